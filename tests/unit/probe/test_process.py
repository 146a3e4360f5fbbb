from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from crashcart.probe.process import (
    ProcessReader,
    ProcessSample,
    ProcessTree,
    is_alive,
    process_name,
    rlimits,
    thread_names,
)

Find = Callable[[str], Path]
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def started(code: str) -> subprocess.Popen[str]:
    """A Python program that has said its first word."""
    program = subprocess.Popen(
        [sys.executable, "-S", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    assert program.stdout.readline()
    return program


def ended(program: subprocess.Popen[str]) -> None:
    program.kill()
    program.communicate()


def test_sample_with_blanks_and_parentheses_in_the_name(machine: Find) -> None:
    reader = ProcessReader(4242, machine("v1-flat"))
    assert reader.sample() == ProcessSample(
        rss_bytes=100000 * PAGE_BYTES,
        anon_bytes=60000 * PAGE_BYTES,
        cpu_s=1300 / TICKS_PER_S,
        threads=37,
        state="S",
    )
    assert reader.start_ticks() == 96394
    reader.close()


def test_signal_masks(machine: Find) -> None:
    reader = ProcessReader(4242, machine("v1-flat"))
    caught, blocked, ignored = reader.signals_caught(), reader.signals_blocked_main(), reader.signals_ignored()
    reader.close()
    assert caught == 1 << (signal.SIGINT - 1) | 1 << (signal.SIGUSR2 - 1) | 1 << 32
    assert blocked == 1 << (11 - 1), "of the main thread's own file, not the process's"
    assert ignored == 1 << (13 - 1) | 1 << (25 - 1)


def test_main_thread(machine: Find) -> None:
    reader = ProcessReader(4242, machine("v1-flat"))
    assert reader.main_thread_cpu_ns() == 12880000123
    assert reader.main_thread_sleeping_in() == 202
    reader.close()


@pytest.mark.parametrize("schedstat", ["0 0 0\n", None])
def test_main_thread_time_in_ticks_without_scheduler_statistics(
    machine: Find, tmp_path: Path, schedstat: str | None
) -> None:
    root = shutil.copytree(machine("v1-flat"), tmp_path / "machine")
    file = root / "proc/4242/task/4242/schedstat"
    file.unlink() if schedstat is None else file.write_text(schedstat)
    reader = ProcessReader(4242, root)
    assert reader.main_thread_cpu_ns() == 1250 * 1_000_000_000 // TICKS_PER_S
    reader.close()


@pytest.mark.parametrize("text", ["running\n", "-1 0x7ffd8f0ee998 0x7f1e22250503\n", ""])
def test_main_thread_that_is_in_no_system_call(machine: Find, tmp_path: Path, text: str) -> None:
    root = shutil.copytree(machine("v1-flat"), tmp_path / "machine")
    (root / "proc/4242/task/4242/syscall").write_text(text)
    reader = ProcessReader(4242, root)
    assert reader.main_thread_sleeping_in() is None
    reader.close()


def test_process_that_never_was() -> None:
    reader = ProcessReader(2**22 + 1)
    assert (reader.sample(), reader.start_ticks(), reader.main_thread_cpu_ns()) == (None, None, None)
    assert (reader.signals_caught(), reader.main_thread_sleeping_in()) == (None, None)
    reader.close()


def test_living_process_and_its_end() -> None:
    program = started("held = bytearray(40 << 20); print('up', flush=True); input()")
    reader = ProcessReader(program.pid)
    sample, start = reader.sample(), reader.start_ticks()
    assert sample is not None and start is not None
    assert sample.anon_bytes > 40 << 20
    assert sample.rss_bytes > sample.anon_bytes
    assert reader.main_thread_cpu_ns()
    assert is_alive(program.pid, start)
    assert not is_alive(program.pid, start + 1), "another process with the same pid"
    program.kill()
    os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)
    assert reader.sample() is None, "ended, not yet reaped"
    assert not is_alive(program.pid, start)
    ended(program)
    assert (reader.sample(), reader.start_ticks(), reader.signals_caught()) == (None, None, None)
    reader.close()


def test_caught_and_blocked_signals_of_a_living_process() -> None:
    program = started(
        "import signal; signal.signal(signal.SIGUSR1, print); signal.signal(signal.SIGUSR2, signal.SIG_IGN);"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]); print('up', flush=True); input()"
    )
    reader = ProcessReader(program.pid)
    caught, ignored, blocked = reader.signals_caught(), reader.signals_ignored(), reader.signals_blocked_main()
    reader.close()
    ended(program)
    assert caught is not None and ignored is not None and blocked is not None
    assert caught >> (signal.SIGUSR1 - 1) & 1
    assert ignored >> (signal.SIGUSR2 - 1) & 1
    assert blocked >> (signal.SIGTERM - 1) & 1


def test_reader_gives_its_descriptors_back() -> None:
    before = len(os.listdir("/proc/self/fd"))
    reader = ProcessReader(os.getpid())
    assert reader.sample() is not None
    reader.main_thread_cpu_ns()
    reader.main_thread_sleeping_in()
    reader.signals_caught()
    reader.close()
    assert len(os.listdir("/proc/self/fd")) == before
    assert reader.sample() is None
    assert reader.signals_caught() is None


def test_names(machine: Find) -> None:
    root = machine("v1-flat")
    assert process_name(4242, root) == "py) (thon 3"
    assert thread_names(4242, root) == ("py) (thon 3", "tf_Compute", "tf_data_private")
    assert process_name(1, root) is None
    assert thread_names(1, root) == ()


def test_soft_limits(machine: Find) -> None:
    assert rlimits(4242, machine("v1-flat")) == {
        "nofile": 1024,
        "nproc": 63342,
        "as": 8589934592,
        "data": 4294967296,
        "stack": 8388608,
        "core": 0,
        "memlock": 67108864,
        "fsize": None,
        "cpu": None,
    }
    assert rlimits(1, machine("v1-flat")) is None


def family(root: Path, pid: int, parent: int, start: int, state: str = "S") -> None:
    """Write one process of a fake machine."""
    folder = root / "proc" / str(pid)
    folder.mkdir(exist_ok=True)
    (folder / "stat").write_text(f"{pid} (x) {state} {parent} {'0 ' * 17}{start} 0 0\n")


@pytest.fixture
def families(machine: Find, tmp_path: Path) -> Path:
    return shutil.copytree(machine("families"), tmp_path / "machine")


def test_descendants_through_all_generations(families: Path) -> None:
    assert ProcessTree(1000, families).refresh() == (1001, 1002, 1003), "1004 has ended, and 901 is a stranger"


def test_descendant_stays_one_when_init_adopts_it(families: Path) -> None:
    tree = ProcessTree(1000, families)
    tree.refresh()
    shutil.rmtree(families / "proc/1002")
    family(families, 1003, 1, 952)
    family(families, 1005, 1003, 960)
    assert tree.refresh() == (1001, 1003, 1005)


def test_reused_pid_is_not_the_descendant_that_had_it(families: Path) -> None:
    tree = ProcessTree(1000, families)
    tree.refresh()
    family(families, 1003, 900, 5000)
    assert tree.refresh() == (1001, 1002)
    family(families, 1006, 1003, 5001)
    assert tree.refresh() == (1001, 1002)


def test_reused_pid_of_the_root_founds_no_new_family(families: Path) -> None:
    tree = ProcessTree(1000, families)
    tree.refresh()
    family(families, 1000, 900, 7000)
    family(families, 1007, 1000, 7001)
    assert tree.refresh() == (1001, 1002, 1003)


def test_process_whose_parent_was_not_listed_is_looked_at_again(families: Path) -> None:
    tree = ProcessTree(1000, families)
    family(families, 1011, 1010, 991)
    assert tree.refresh() == (1001, 1002, 1003)
    family(families, 1010, 1000, 990)
    assert tree.refresh() == (1001, 1002, 1003, 1010, 1011)


def test_strangers_are_read_once(families: Path) -> None:
    tree = ProcessTree(1000, families)
    tree.refresh()
    (families / "proc/901/stat").write_text("unreadable")
    family(families, 50, 1000, 2)
    assert tree.refresh() == (1001, 1002, 1003)


def test_tree_of_a_living_process_with_an_orphan() -> None:
    program = started(
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    if os.fork() == 0:\n"
        "        print('up', flush=True)\n"
        "    time.sleep(60)\n"
        "input()"
    )
    tree = ProcessTree(program.pid)
    child, grandchild = tree.refresh()
    os.kill(child, signal.SIGKILL)
    program.kill()
    program.wait()
    while is_alive(child, None):
        time.sleep(0.01)
    left = tree.refresh()
    os.kill(grandchild, signal.SIGKILL)
    program.communicate()
    assert left == (grandchild,)
