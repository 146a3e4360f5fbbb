"""What a log tells of its machine: kills, processor, cards, versions, native stacks."""

from __future__ import annotations

import pytest

from crashcart.probe.log import parse_log
from crashcart.probe.log_crash import told_crash
from crashcart.probe.log_ending import told_ending
from crashcart.probe.log_facts import kill_lines, told_environment, told_gpus, told_machine
from crashcart.units import GIB, MIB


def test_kills_for_memory_carry_their_line_numbers() -> None:
    log = parse_log(
        "start\nslurmstepd: error: Detected 1 oom-kill event(s) in StepId=191.batch cgroup.\nloss 0.1, memory 3 GB\n"
    )
    assert kill_lines(log.lines) == (
        "line 2: slurmstepd: error: Detected 1 oom-kill event(s) in StepId=191.batch cgroup.",
    )
    assert kill_lines(parse_log("GPU out of memory, halving the batch\nkilled time\n").lines) == ()


def test_a_worker_whose_time_was_up_was_not_killed_for_memory() -> None:
    guess = "[2023-05-02 10:00:31] [7] [ERROR] Worker (pid:91) was sent SIGKILL! Perhaps out of memory?\n"
    assert len(kill_lines(parse_log(guess).lines)) == 1
    timeout = "[2023-05-02 10:00:30] [7] [CRITICAL] WORKER TIMEOUT (pid:91)\n"
    assert kill_lines(parse_log(timeout + guess).lines) == ()
    assert len(kill_lines(parse_log(timeout.replace("91", "92") + guess).lines)) == 1


def test_a_serverless_run_that_used_all_it_had() -> None:
    report = "REPORT RequestId: 1f Duration: 900.12 ms Memory Size: 128 MB\tMax Memory Used: {} MB\n"
    assert len(kill_lines(parse_log(report.format(128)).lines)) == 1
    assert kill_lines(parse_log(report.format(90)).lines) == ()


@pytest.mark.parametrize(
    "text",
    [
        "State: OUT_OF_MEMORY (exit code 0)",
        "failed       52  : cgroups enforced memory limit",
        'job 8123 exceeds job hard limit "h_vmem" of queue "gpu.q" - sending SIGKILL',
        'sending SIGTERM to process 811 uid 1000 "python": badness 900, VmRSS 12000 MiB',
        "Notebook Exceeded Memory",
    ],
)
def test_schedulers_name_memory_in_their_own_words(text: str) -> None:
    assert len(kill_lines(parse_log(text).lines)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "memory usage exceeded 80 %, collecting",
        "State: COMPLETED (exit code 0)",
        'job 8123 exceeds job hard limit "h_rt"',
    ],
)
def test_what_only_sounds_like_it(text: str) -> None:
    assert kill_lines(parse_log(text).lines) == ()


def test_the_processor() -> None:
    machine = told_machine(parse_log("flags\t\t: fpu vme sse sse2 ssse3 sse4_1 lahf_lm\n").lines)
    assert (
        machine is not None
        and machine.cpu_flags is not None
        and "avx" not in machine.cpu_flags
        and machine.system is None
    )
    machine = told_machine(parse_log("arm64\n/Users/a/bin/python: Mach-O 64-bit executable x86_64\n").lines)
    assert machine is not None and (machine.system, machine.architecture) == ("Darwin", "x86_64 on arm64")
    assert told_machine(parse_log("epoch 1 loss 0.3\n").lines) is None


def test_the_cards_and_what_was_free() -> None:
    (gpu,) = (
        told_gpus(
            parse_log(
                "Found device 0 with properties: \nname: GeForce GTX 1080\nTotal memory: 7.92GiB\nFree memory: 190.31MiB\n"
            ).lines
        )
        or ()
    )
    assert (gpu.name, gpu.total_bytes, gpu.free_bytes) == ("GeForce GTX 1080", int(7.92 * GIB), int(190.31 * MIB))
    assert told_gpus(parse_log("memory: 6497\n").lines) is None


def test_versions() -> None:
    environment = told_environment(
        parse_log(
            "Python 3.8.5 (default)\ntensorflow==2.4.1\nnumpy                     1.19.5\nTF version: 1.14.0\n"
        ).lines
    )
    assert environment is not None and environment.python == "3.8.5"
    assert environment.packages == {"tensorflow": "2.4.1", "numpy": "1.19.5"}
    assert told_environment(parse_log("loss 0.1\n").lines) is None


def test_a_native_stack_and_a_python_stack() -> None:
    text = (
        "Program received signal SIGSEGV, Segmentation fault.\n"
        "#0  0x00007ff9 in PyArray_API () from /usr/lib64/python2.7/numpy/core/multiarray.so\n"
        "#1  0x00007f4d in _import_array ()\n"
        "   from /opt/scipy/special.so\n"
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent call first):\n"
        '  File "/srv/train.py", line 12 in step\n'
    )
    lines = parse_log(text).lines
    crash = told_crash(lines, told_ending(lines), lambda file: True)
    assert crash is not None and crash.pid is None
    assert [(frame.library.rpartition("/")[2], frame.symbol) for frame in crash.frames] == [
        ("multiarray.so", "PyArray_API"),
        ("special.so", "_import_array"),
    ]
    assert crash.python is not None and crash.python.stacks[0].frames[0].line == 12
    assert told_crash(lines, None, lambda file: True) is None
