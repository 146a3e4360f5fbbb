"""A watched kernel lives as a plain one would: restart, interrupt, shutdown, and the ends of those who started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from live_kernels import Kernel, Place, alive, until

from bench import processes

COUNT_INTERRUPTS = """
import time
hits, told, end = 0, False, time.monotonic() + 8
while time.monotonic() < end:
    try:
        if not told:
            told = True
            print("ready", flush=True)
        time.sleep(0.05)
    except KeyboardInterrupt:
        hits += 1
        end = time.monotonic() + 0.7
print(hits)
"""


def begin(kernel: Kernel, code: str) -> str:
    """Send a cell and wait until it says that it is ready."""
    request = kernel.client.execute(code)
    while True:
        message = kernel.client.get_iopub_msg(timeout=20)
        if "ready" in str(message["content"].get("text")):
            return str(request)


@pytest.mark.parametrize("now", [True, False])
def test_a_restart_leaves_one_kernel(watched: Place, now: bool) -> None:
    kernel = watched.start()
    first = (kernel.lead, kernel.pid())
    kernel.run("x = 1")
    kernel.manager.restart_kernel(now=now)
    kernel.client.wait_for_ready(timeout=30)
    second = (kernel.lead, kernel.pid())
    assert until(lambda: not alive(*first))
    assert processes.children(second[0]) == [second[1]]
    assert "NameError" in kernel.run("x")
    ended = watched.recordings()[0]
    assert watched.report(ended)["findings"][0]["cause"] != "killed-from-outside"


def test_an_interrupt_is_raised_once(watched: Place) -> None:
    kernel = watched.start()
    request = begin(kernel, COUNT_INTERRUPTS)
    kernel.manager.interrupt_kernel()
    assert kernel.outcome(request).strip() == "1"
    assert kernel.run("print(6 * 7)") == "42\n"


def test_an_interrupt_reaches_what_the_cell_started(watched: Place) -> None:
    kernel = watched.start()
    code = "import subprocess\nchild = subprocess.Popen(['sleep', '60'])\nprint('ready', flush=True)\nchild.wait()"
    request = begin(kernel, code)
    child = next(pid for pid in processes.children(processes.children(kernel.lead)[0]))
    kernel.manager.interrupt_kernel()
    assert "KeyboardInterrupt" in kernel.outcome(request)
    assert until(lambda: not alive(child))
    assert kernel.run("print('alive')") == "alive\n"


def test_an_interrupt_while_the_guard_has_much_to_watch(watched: Place) -> None:
    kernel = watched.start()
    code = "data = []\nprint('ready', flush=True)\nwhile True:\n    data.append(bytearray(1 << 20)); del data[:-200]\n"
    request = begin(kernel, code)
    time.sleep(0.5)
    kernel.manager.interrupt_kernel()
    assert "KeyboardInterrupt" in kernel.outcome(request)
    assert kernel.run("print(len(data) > 100)") == "True\n"


@pytest.mark.parametrize("now", [True, False])
def test_a_shutdown_leaves_nothing_and_is_no_death(watched: Place, now: bool) -> None:
    kernel = watched.start()
    pids = (kernel.lead, kernel.pid())
    kernel.manager.shutdown_kernel(now=now)
    assert until(lambda: not alive(*pids))
    (folder,) = watched.recordings()
    assert "died" not in watched.crashcart("list").stdout
    cause = watched.report(folder)["findings"][0]["cause"]
    assert cause in ("clean-exit", "killed-from-outside", "interrupted", "unknown"), cause


def test_a_watcher_that_is_killed_takes_the_kernel_with_it(watched: Place) -> None:
    kernel = watched.start()
    pid = kernel.pid()
    os.kill(kernel.lead, signal.SIGKILL)
    assert until(lambda: not alive(pid))


STARTER = """
import sys, time
from jupyter_client import KernelManager
manager = KernelManager(kernel_name="python3")
manager.start_kernel()
client = manager.client()
client.start_channels()
client.wait_for_ready(timeout=30)
client.execute("import time; time.sleep(60)")
print(manager.provisioner.pid, flush=True)
time.sleep(60)
"""


def test_a_starter_that_is_killed_takes_watcher_and_kernel_with_it(watched: Place) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as starter:
        assert starter.stdout is not None
        lead = int(starter.stdout.readline())
        (pid,) = processes.children(lead)
        starter.kill()
        starter.wait()
    assert until(lambda: not alive(lead, pid))


def test_two_kernels_are_not_confused(watched: Place) -> None:
    first, second = watched.start(), watched.start()
    first.run("import os, signal\nname = 'first'")
    second.run("import ctypes\nname = 'second'")
    kill = first.client.execute("os.kill(os.getpid(), signal.SIGKILL)")
    fault = second.client.execute("\nctypes.string_at(0)")
    told_first, told_second = first.outcome(kill), second.outcome(fault)
    assert "SIGKILL" in told_first and "cell [2]" in told_first and "native code" not in told_first
    assert "native code" in told_second and "cell [2], line 2" in told_second and "SIGKILL" not in told_second


def test_a_kernel_that_lives_is_not_disturbed_by_the_death_of_another(watched: Place) -> None:
    first, second = watched.start(), watched.start()
    first.run("import os; os._exit(1)")
    assert second.run("print(1 + 1)") == "2\n"


def test_a_killed_process_of_the_cell_is_no_death_of_the_kernel(watched: Place) -> None:
    kernel = watched.start()
    code = "import os, signal\npid = os.fork()\nif pid == 0:\n    os.kill(os.getpid(), signal.SIGKILL)\nprint(os.waitpid(pid, 0)[1])"
    assert kernel.run(code) == "9\n"
    assert kernel.run("print('alive')") == "alive\n"


def test_the_folder_of_the_notebook_is_the_kernels(
    watched: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Modules of the user's folder, one that is named like ours among them, are the kernel's and never the watcher's."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "crashcart.py").write_text("raise SystemExit('not this')")
    (tmp_path / "work" / "mine.py").write_text("answer = 42")
    monkeypatch.chdir(tmp_path / "work")
    kernel = watched.start()
    assert kernel.run("import os, mine; print(mine.answer, 'CRASHCART_RECORDING' in os.environ)") == "42 True\n"


CHILDREN = """
import multiprocessing, subprocess, time
forked = multiprocessing.get_context("fork").Process(target=time.sleep, args=(1000,))
forked.start()
started = subprocess.Popen(["sleep", "1000"])
print("children", forked.pid, started.pid)
"""


def test_a_hard_restart_takes_the_cells_processes_along(watched: Place) -> None:
    """A forked one holds the kernel's ports: the next kernel could not start."""
    kernel = watched.start()
    pids = [int(word) for word in kernel.run(CHILDREN).split("children")[1].split()[:2]]
    kernel.manager.restart_kernel(now=True)
    kernel.client.wait_for_ready(timeout=30)
    assert until(lambda: not alive(*pids))


def test_the_last_death_is_shown_also_after_an_ordinary_restart(watched: Place) -> None:
    kernel = watched.start()
    kernel.run("import ctypes; ctypes.string_at(0)")
    for _ in range(2):
        kernel.manager.restart_kernel()
        kernel.client.wait_for_ready(timeout=30)
    assert "crashed in native code" in kernel.run("print(get_ipython().run_line_magic('why', ''))")


def test_magics_have_the_options_of_their_commands(watched: Place) -> None:
    kernel = watched.start()
    (watched.folder / "out.txt").write_text("MemoryError\n")
    told = kernel.run(f"print(get_ipython().run_line_magic('why', '--log {watched.folder}/out.txt'))")
    assert "because  line 1: MemoryError" in told
    assert "recorded and guarded" in kernel.run("%jupyter status")
