"""The watcher sees memory, limits, children, hangs; it is light, and its readings end up in the recording."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from bench import group, processes
from crashcart.blackbox.read import read_recording
from tests.conftest import Crashcart

PYTHON = sys.executable
NEEDS_GROUP = pytest.mark.skipif(group.unavailable() is not None, reason=str(group.unavailable()))


def run_in_group(crashcart: Crashcart, source: str, limit_mb: int) -> subprocess.CompletedProcess[str]:
    """Without the guard, which would keep the program from dying."""
    with group.memory_group(limit_mb) as place:
        return subprocess.run(
            crashcart.command(source, "--no-guard"),
            env=crashcart.environment, capture_output=True, text=True, timeout=60, cwd=crashcart.scratch,
            preexec_fn=lambda: group.enter(place),
        )  # fmt: skip


@NEEDS_GROUP
def test_an_oom_kill_is_certain_with_line_growth_and_limit(crashcart: Crashcart) -> None:
    source = "def load():\n    return bytearray(b'x') * (900 << 20)\n\nblock = load()\n"
    done = run_in_group(crashcart, source, 300)
    assert done.returncode == 137
    assert "its container ran out of memory" in done.stderr
    assert "(certain)" in done.stderr
    assert "program.py:2 in load" in done.stderr
    assert "300 MiB (memory" in done.stderr


@NEEDS_GROUP
def test_what_held_the_memory_is_named(crashcart: Crashcart) -> None:
    source = (
        "import time\n"
        "def main():\n"
        "    table = bytearray(b'x') * (150 << 20)\n"
        "    for _ in range(20):\n        time.sleep(0.1)\n"
        "    copy = bytes(table) * 4\n"
        "main()\n"
    )
    done = run_in_group(crashcart, source, 300)
    assert done.returncode == 137
    assert "held     table 150 MiB bytearray" in done.stderr
    assert "program.py:6 in main" in done.stderr


@NEEDS_GROUP
def test_a_child_that_is_killed_while_the_parent_lives_on(crashcart: Crashcart) -> None:
    source = (
        "import multiprocessing as mp, sys\n"
        "def work():\n"
        "    block = bytearray(b'x') * (900 << 20)\n"
        "child = mp.get_context('fork').Process(target=work)\n"
        "child.start(); child.join()\n"
        "sys.exit(child.exitcode == -9)\n"
    )
    done = run_in_group(crashcart, source, 300)
    assert done.returncode == 1
    assert "a child of program.py" in done.stderr
    assert "lived on and ended with exit code 1" in done.stderr
    assert "program.py:3 in work" in done.stderr


@NEEDS_GROUP
def test_page_cache_is_not_blamed(crashcart: Crashcart) -> None:
    source = (
        "import os, signal, time\n"
        "with open('big', 'wb') as stream:\n    for _ in range(400): stream.write(bytes(1 << 20))\n"
        "time.sleep(1.5)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = run_in_group(crashcart, source, 300)
    assert done.returncode == 137
    assert "ended from outside (SIGKILL), not for memory" in " ".join(done.stderr.split())


def test_a_hang_is_told_from_sleep(crashcart: Crashcart) -> None:
    deadlock = "import threading\nlock = threading.Lock()\n\ndef step():\n    lock.acquire()\n\nstep()\nstep()\n"
    sleep = "import time\ntime.sleep(60)\n"
    running = []
    for number, source in enumerate((deadlock, sleep)):
        environment = {**crashcart.environment, "CRASHCART_HOME": str(crashcart.home / str(number))}
        running.append(crashcart.start(source, name=f"p{number}.py", env=environment, stderr=subprocess.PIPE))
    time.sleep(17)
    verdicts = []
    for process in running:
        process.send_signal(signal.SIGTERM)
        verdicts.append(process.communicate(timeout=20)[1])
    assert "hung: it waited" in verdicts[0]
    assert "p0.py:5 in step" in verdicts[0]
    assert "was ended from outside (SIGTERM)" in verdicts[1]


def test_the_watcher_is_light(crashcart: Crashcart) -> None:
    """Memory, processor time and open files of the watching process, far from any limit."""
    with crashcart.start("import time\ntime.sleep(6)\n") as process:
        time.sleep(5)
        resident_bytes = processes.resident_bytes(process.pid)
        used_s = processes.cpu_s(process.pid)
        files = len(os.listdir(f"/proc/{process.pid}/fd"))
    assert resident_bytes < 25_000 * 1024
    assert used_s < 1.0
    assert files < 40


def test_a_program_that_leaves_a_daemon_behind(crashcart: Crashcart) -> None:
    source = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True,\n"
        "                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "time.sleep(1.5)\nprint(child.pid)\n"
    )
    started_s = time.monotonic()
    done = crashcart.run(source)
    assert time.monotonic() - started_s < 40
    assert done.code == 0
    assert done.folder is not None
    ending = read_recording(done.folder).ending
    assert ending is not None
    assert ending.survivors == (int(done.out),)
    os.kill(int(done.out), signal.SIGKILL)


def test_a_shell_script_is_watched_with_what_it_starts(crashcart: Crashcart) -> None:
    program = crashcart.program("import ctypes\n\ndef peek():\n    ctypes.string_at(16)\n\npeek()\n")
    done = crashcart("run", "--", "sh", "-c", f"echo begin; {PYTHON} {program}; exit $?")
    assert done.returncode == 139
    assert "crashed in native code" in done.stderr
    assert "program.py:4 in peek" in done.stderr
