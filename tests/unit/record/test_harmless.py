"""What a watched program must not notice. Each test is a program that once did."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from questions import ASK

from bench.processes import children
from tests.conftest import Crashcart

PYTHON = sys.executable
SURVEY = f"import os, time\ndef ask():\n    {ASK}\n    time.sleep(0.05)\n"


def test_a_dict_from_locals_stays_what_it_was(crashcart: Crashcart) -> None:
    source = (
        SURVEY
        + "def main(lr=0.1):\n    params = locals()\n    extra = 1\n    ask()\n    print(sorted(params), params['lr'])\nmain()\n"
    )
    assert crashcart.run(source).out in ("['lr', 'params'] 0.1\n", "['lr'] 0.1\n")


def test_proxies_and_lazy_objects_are_not_touched(crashcart: Crashcart) -> None:
    source = SURVEY + (
        "class Proxy:\n"
        "    def __getattribute__(self, name):\n        print('touched', name)\n        return object.__getattribute__(self, name)\n"
        "class Big(list):\n    def __len__(self):\n        print('asked')\n        return 3\n"
        "import weakref\nclass C: pass\n"
        "proxy, big, dead = Proxy(), Big([1]), weakref.proxy(C())\n"
        "block = bytearray(5 << 20)\n"
        "ask()\nprint('quiet')\n"
    )
    assert crashcart.run(source).out == "quiet\n"


def test_a_survey_has_a_bound_even_for_deep_objects(crashcart: Crashcart) -> None:
    source = SURVEY + (
        "class Deep: pass\n"
        "deep = Deep()\n"
        "for n in range(40): setattr(deep, f'a{n}', [[[bytes(99) for _ in range(24)] for _ in range(24)] for _ in range(24)])\n"
        f"start = time.process_time()\n{ASK}\nsum(range(10))\n"
        "print(time.process_time() - start < 0.5)\n"
    )
    assert crashcart.run(source).out == "True\n"


def test_a_survey_near_the_recursion_limit_raises_nothing(crashcart: Crashcart) -> None:
    source = SURVEY + (
        "import sys\nsys.setrecursionlimit(220)\n"
        f"def down(n):\n    if n:\n        return down(n - 1)\n    {ASK}\n    return sum([1, 2])\n"
        "print(down(150))\n"
    )
    assert crashcart.run(source).out == "3\n"


def test_an_empty_entry_of_pythonpath_is_still_the_working_directory(crashcart: Crashcart) -> None:
    (crashcart.scratch / "mymod.py").write_text("value = 7\n")
    folder = crashcart.scratch / "sub"
    folder.mkdir()
    (folder / "train.py").write_text("import mymod\nprint(mymod.value)\n")
    done = crashcart("run", "--", PYTHON, "sub/train.py", env={"PYTHONPATH": ":/nowhere"})
    assert done.stdout == "7\n"


def test_a_daemon_keeps_its_files_through_a_fork(crashcart: Crashcart) -> None:
    source = (
        "import os, gc\nos.closerange(3, 256)\n"
        "mine = [open(f'f{n}', 'w') for n in range(10)]\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    gc.collect()\n"
        "    for stream in mine: os.fstat(stream.fileno())\n"
        "    os._exit(0)\n"
        "print(os.waitpid(pid, 0)[1])\n"
    )
    assert crashcart.run(source).out == "0\n"


def test_sys_excepthook_is_pythons_own_and_a_replaced_one_costs_nothing(crashcart: Crashcart) -> None:
    done = crashcart.run(
        "import sys\nprint(sys.excepthook is sys.__excepthook__)\n"
        "sys.excepthook = lambda *a: print('mine')\n"
        "def norm(v):\n    return 1 / v\nnorm(0)\n"
    )
    assert done.out == "True\nmine\n"
    assert done.verdict["cause"] == "python-error"
    assert done.verdict["where"]["line"] == 5


def test_an_exception_shown_by_a_console_did_not_end_the_program(crashcart: Crashcart) -> None:
    done = crashcart.run("import code, sys\ncode.InteractiveInterpreter().runsource('1/0')\nsys.exit(4)\n")
    assert done.code == 4
    assert done.verdict["cause"] == "clean-exit" or done.verdict["confidence"] != "certain"


def test_a_child_that_handled_its_signal_did_not_crash(crashcart: Crashcart) -> None:
    source = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGABRT, lambda *a: None)\n"
        "pid = os.fork()\n"
        "if pid == 0:\n    os.kill(os.getpid(), signal.SIGABRT)\n    sys.exit(0)\n"
        "print(os.waitpid(pid, 0)[1])\nsys.exit(3)\n"
    )
    done = crashcart.run(source)
    assert (done.out, done.code) == ("0\n", 3)
    assert done.verdict["cause"] == "clean-exit"


def test_a_childs_crash_is_not_blamed_for_the_parents_own_error(crashcart: Crashcart) -> None:
    source = (
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', 'import ctypes; ctypes.string_at(1)'])\n"
        "config = None\nprint(config.batch_size)\n"
    )
    done = crashcart.run(source)
    assert done.verdict["cause"] == "python-error"
    assert done.verdict["where"]["line"] == 4


@pytest.mark.parametrize(
    "line",
    [
        "raise ValueError('unknown shape: the shapes do not match')",
        "raise MemoryError('tile budget exceeded: 512 > 256')",
        "class HTTPError(Exception): pass\nraise HTTPError('404 Not Found: https://example.org/weights.h5')",
    ],
)
def test_the_programs_own_words_are_not_taken_for_a_frameworks(crashcart: Crashcart, line: str) -> None:
    assert crashcart.run(line).verdict["cause"] == "python-error"


def test_a_fault_signal_sent_by_another_process_is_no_crash(crashcart: Crashcart) -> None:
    source = (
        "import os, subprocess, time\n"
        "subprocess.Popen(['sh', '-c', f'sleep 0.5; kill -SEGV {os.getpid()}'])\n"
        "while True: time.sleep(0.1)\n"
    )
    done = crashcart.run(source)
    assert done.code == 139
    assert done.verdict["cause"] == "killed-from-outside"


def test_a_signal_that_passed_earlier_is_not_the_one_that_ended_it(crashcart: Crashcart) -> None:
    source = "import signal, time\nsignal.signal(signal.SIGUSR1, lambda *a: None)\nprint('ready', flush=True)\ntime.sleep(30)\n"
    with crashcart.start(source, stderr=subprocess.PIPE) as watcher:
        assert watcher.stdout is not None and watcher.stderr is not None
        watcher.stdout.readline()
        watcher.send_signal(signal.SIGUSR1)
        time.sleep(0.5)
        os.kill(children(watcher.pid)[0], signal.SIGKILL)
        verdict = watcher.stderr.read()
    assert "ended from outside (SIGKILL)" in " ".join(verdict.split())
    assert "came from" not in verdict


def test_a_second_interrupt_does_not_cost_the_verdict(crashcart: Crashcart) -> None:
    source = "import time\nprint('ready', flush=True)\ntime.sleep(30)\n"
    with crashcart.start(source, stderr=subprocess.PIPE, start_new_session=True) as watcher:
        assert watcher.stdout is not None and watcher.stderr is not None
        watcher.stdout.readline()
        for _ in range(3):
            os.killpg(watcher.pid, signal.SIGTERM)
            time.sleep(0.1)
        verdict = watcher.stderr.read()
    assert watcher.returncode == 143
    assert "ended from outside (SIGTERM)" in " ".join(verdict.split())


@pytest.mark.parametrize(
    "script",
    [
        "mkdir gone && cd gone && {crashcart} run -- sh -c 'rmdir ../gone; exit 7'",
        "trap '' CHLD; {crashcart} run -- sh -c 'exit 7'",
        "env -u HOME {crashcart} run -- sh -c 'exit 7'",
        "{crashcart} run -- sh -c 'echo x >&2; exit 7' 2>&-",
        "{{ {crashcart} run -- sh -c 'exit 7'; echo $? >&3; }} 3>&1 2>&1 >/dev/null | cat | tail -1 | grep -q 7 && exit 7",
    ],
)
def test_the_exit_code_gets_through_whatever_goes_wrong_with_us(crashcart: Crashcart, script: str) -> None:
    command = script.format(crashcart=f"{PYTHON} -m crashcart")
    done = subprocess.run(
        ["sh", "-c", command],
        env=crashcart.environment,
        capture_output=True,
        text=True,
        cwd=crashcart.scratch,
        timeout=60,
    )
    assert done.returncode == 7, done.stderr
    assert "crashcart" not in done.stdout


def test_two_runs_in_one_second_have_two_recordings(crashcart: Crashcart) -> None:
    source = "import crashcart as cc, sys\nfor _ in range(3): cc.run([sys.executable, '-c', 'pass'])\nprint(len(cc.recordings()))\n"
    done = subprocess.run([PYTHON, "-c", source], env=crashcart.environment, capture_output=True, text=True, timeout=60)
    assert done.stdout == "3\n", done.stderr


def test_titles_in_a_message_do_not_reach_the_terminal(crashcart: Crashcart) -> None:
    crashcart.run("raise ValueError('\\x1b]0;pwned\\x07 text')")
    assert "\x1b" not in crashcart("list").stdout


@pytest.mark.parametrize(
    "call",
    [
        "os.execv('/bin/sh', argv)",
        "os.execve('/bin/sh', argv, os.environ)",
        "os.execve(os.open('/bin/sh', 0), argv, {})",
    ],
)
def test_a_question_that_meets_the_next_program_does_not_end_it(crashcart: Crashcart, call: str) -> None:
    source = f"import os\nargv = ['sh', '-c', 'kill -49 $$; kill -50 $$; echo alive']\n{call}\n"
    assert crashcart.run(source).out == "alive\n"


def test_a_program_that_could_not_be_replaced_still_answers(crashcart: Crashcart) -> None:
    source = SURVEY + (
        "def caught():\n    return [line for line in open('/proc/self/status') if line.startswith('SigCgt')]\n"
        "before = caught()\n"
        "try:\n    os.execv('/nowhere', ['x'])\nexcept FileNotFoundError as error:\n    print(error.errno)\n"
        "ask()\nprint(before == caught())\n"
    )
    assert crashcart.run(source).out == "2\nTrue\n"


def test_a_child_process_does_not_inherit_deafness(crashcart: Crashcart) -> None:
    source = "import subprocess\nsubprocess.run(['grep', 'SigIgn', '/proc/self/status'])\n"
    ignored = int(crashcart.run(source).out.split()[1], 16)
    assert not ignored >> 48 & 3  # signals 49 and 50
