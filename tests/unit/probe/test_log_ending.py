"""How a log tells the end of a program, and what only looks like it."""

from __future__ import annotations

import pytest

from crashcart.evidence import Ending
from crashcart.probe.log import parse_log
from crashcart.probe.log_ending import told_ending


def ending(text: str) -> Ending | None:
    return told_ending(parse_log(text).lines)


TOLD = {
    "Killed": "SIGKILL",
    "kernel: [1.2] python[20417]: segfault at 0 ip 00007f3c sp 00007ffd error 4 in libtensorflow_framework.so.2[7f3c+2000]": "SIGSEGV",
    "traps: python[811] trap invalid opcode ip:7f1c sp:7ffc error:0 in _pywrap_tensorflow_internal.so[7f1c+1000]": "SIGILL",
    "srun: error: gpu07: task 0: Segmentation fault (core dumped)": "SIGSEGV",
    "mpirun noticed that process rank 0 with PID 811 on node n1 exited on signal 9 (Killed).": "SIGKILL",
    "zsh: killed     python train.py": "SIGKILL",
    "./run.sh: line 12: 20417 Killed                  python train.py": "SIGKILL",
    "[1]+  Killed                  python train.py": "SIGKILL",
    "[1]    20417 segmentation fault (core dumped)  ./train.py": "SIGSEGV",
    "Segmentation fault: 11": "SIGSEGV",
    "Speicherzugriffsfehler (Speicherabzug geschrieben)": "SIGSEGV",
    "Erreur de segmentation (core dumped)": "SIGSEGV",
    "Violación de segmento (`core' generado)": "SIGSEGV",
    "段错误 (核心已转储)": "SIGSEGV",
    "Aborted (core dumped)": "SIGABRT",
    "Abort trap: 6": "SIGABRT",
    "Illegal instruction(core dumped)": "SIGILL",
    "Instruction non permise (core dumped)": "SIGILL",
    "非法指令 (核心已转储)": "SIGILL",
    "Bus error (core dumped)": "SIGBUS",
    "Floating point exception (core dumped)": "SIGFPE",
    "Fatal Python error: Bus error": "SIGBUS",
    "Windows fatal exception: access violation": "SIGSEGV",
    "Program received signal SIGSEGV, Segmentation fault.": "SIGSEGV",
    "Exception Type:        EXC_BAD_ACCESS (SIGSEGV)": "SIGSEGV",
    "  traceback : Signal 9 (SIGKILL) received by PID 20417": "SIGKILL",
    "RuntimeError: DataLoader worker (pid 5) is killed by signal: Killed.": "SIGKILL",
    "died with <Signals.SIGKILL: 9>.": "SIGKILL",
    "The exit codes of the workers are {SIGKILL(-9)}": "SIGKILL",
    "trainer_1 exited with code 137": "SIGKILL",
    "Process 10 exit with status code 247": "SIGKILL",
    "Process finished with exit code 139 (interrupted by signal 11: SIGSEGV)": "SIGSEGV",
    "Process finished with exit code -1073741819 (0xC0000005)": "0xC0000005, access violation",
    "Process finished with exit code 3221226505": "0xC0000409, fast fail",
    "slurmstepd: error: *** JOB 1 ON n CANCELLED AT 2021-03-02T04:10:33 DUE TO TIME LIMIT ***": "SIGTERM",
    "KeyboardInterrupt": "SIGINT",
    "強制終了": "SIGKILL",
    "./run.sh: 行 4: 20417 已杀死               python3 main.py": "SIGKILL",
    "train.service: Main process exited, code=dumped, status=11/SEGV": "SIGSEGV",
    "0|train  | App [train:0] exited with code [0] via signal [SIGKILL]": "SIGKILL",
    "Termination Reason:    Namespace SIGNAL, Code 11 Segmentation fault: 11": "SIGSEGV",
    " *** caught segfault ***": "SIGSEGV",
    "make: *** [Makefile:12: train] Killed": "SIGKILL",
    "make: *** [train] Error 139": "SIGSEGV",
    "The command '/bin/sh -c make' returned a non-zero code: 137": "SIGKILL",
    'The command "python train.py" exited with 137.': "SIGKILL",
    "State: TIMEOUT (exit code 0)": "SIGTERM",
    "##[error]The runner has received a shutdown signal.": "SIGTERM",
    "セグメンテーション違反 (コアダンプ)": "SIGSEGV",
    "세그멘테이션 오류 (코어 덤프됨)": "SIGSEGV",
    "Errore di segmentazione (core dump creato)": "SIGSEGV",
    "Аварийный останов (стек памяти сброшен на диск)": "SIGABRT",
    "Exception code: 0xc0000005": "0xC0000005, access violation",
    "terminate called after throwing an instance of 'std::bad_alloc'": "SIGABRT",
    "libc++abi: terminating due to uncaught exception of type std::runtime_error": "SIGABRT",
    "free(): invalid pointer": "SIGABRT",
    "2020-05-01 10:00:00.123456: F tensorflow/core/util/port.cc:1] Check failed: a == b": "SIGABRT",
}


@pytest.mark.parametrize("text", TOLD)
def test_a_signal_is_told(text: str) -> None:
    found = ending(f"epoch 1\n{text}\n")
    assert found is not None and found.kind == "signal" and found.signal_name == TOLD[text]
    assert found.said is not None and found.said.number == 2


@pytest.mark.parametrize("text", ["The kernel appears to have died. It will restart automatically.", "Kernel died", "Kernel: restarting (1eb7) default.js:1487:17",
                                  "The Kernel crashed while executing code in the current cell"])  # fmt: skip
def test_a_notebook_only_says_that_it_is_gone(text: str) -> None:
    found = ending(text)
    assert found is not None and found.kind == "unobserved"


@pytest.mark.parametrize("text", ["Killed 14 stale workers", "aborted by user request: no", "Terminated early: patience 3", "segmentation mask saved",
                                  "illegal value in row 4", "exit", "Bus error rate 0.2", "training terminated normally",
                                  "Sending process 811 closing signal SIGTERM", "free(): 3 blocks of the cache", "F1 score 0.8",
                                  "received a signal to go on", "exited with 3 results"])  # fmt: skip
def test_ordinary_words_are_no_ending(text: str) -> None:
    assert ending(text) is None


def test_a_signal_says_more_than_a_code_and_the_good_end_after_it_counts() -> None:
    found = ending("Segmentation fault (core dumped)\nProcess finished with exit code 1\n")
    assert found is not None and found.signal_name == "SIGSEGV" and found.core_dumped
    found = ending("./x.sh: line 1: 5 Killed   python warm.py\nProcess finished with exit code 0\n")
    assert found is not None and (found.kind, found.exit_code) == ("exit", 0)
