"""Use against the bounds of a group: limits that change, and swap, in recorded trees."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from crashcart.probe.memory import HostMemory, MemoryGroup, Swap, group_swap
from crashcart.record.gauge import REFRESH_FAR_S, Bound, Gauge
from crashcart.units import GIB, MIB

HOST = HostMemory(16 * GIB, 8 * GIB, 4 * GIB, 3 * GIB)


def group(folder: Path, **files: object) -> MemoryGroup:
    """A group of version 2 that uses 700 MiB of a GiB, 100 MiB of them page cache."""
    folder.mkdir(exist_ok=True)
    stat = f"anon 1\nactive_file {60 * MIB}\ninactive_file {40 * MIB}\n"
    known = {"memory_max": GIB, "memory_current": 700 * MIB, "memory_stat": stat, **files}
    for name, content in known.items():
        (folder / name.replace("_", ".")).write_text(f"{content}\n")
    return MemoryGroup(2, folder, "/sys/fs/cgroup")


def test_page_cache_is_not_use(tmp_path: Path) -> None:
    assert Bound(group(tmp_path)).read(0.0, Swap()) == (600 * MIB, GIB)


def test_a_limit_that_changes_is_followed_at_the_pace_of_the_page_cache(tmp_path: Path) -> None:
    bound = Bound(group(tmp_path))
    bound.read(0.0, Swap())
    group(tmp_path, memory_max=3 * GIB)
    assert bound.read(0.01, Swap()) == (600 * MIB, GIB)
    assert bound.read(REFRESH_FAR_S, Swap()) == (600 * MIB, 3 * GIB)
    group(tmp_path, memory_max="max")
    assert bound.read(2 * REFRESH_FAR_S, Swap()) is None
    group(tmp_path, memory_max=2 * GIB)
    assert bound.read(3 * REFRESH_FAR_S, Swap()) == (600 * MIB, 2 * GIB)


def test_a_limit_that_comes_later_is_seen(tmp_path: Path) -> None:
    bound = Bound(group(tmp_path, memory_max="max"))
    assert bound.read(0.0, Swap()) is None
    group(tmp_path)
    assert bound.read(0.5 * REFRESH_FAR_S, Swap()) is None, "asked once a second"
    assert bound.read(REFRESH_FAR_S, Swap()) == (600 * MIB, GIB)


def test_swap_is_room_and_what_is_taken_of_it_is_use(tmp_path: Path) -> None:
    used_bytes, limit_bytes = Bound(group(tmp_path)).read(0.0, Swap(2 * GIB, 500 * MIB)) or (0, 0)
    assert limit_bytes == 3 * GIB
    assert limit_bytes - used_bytes == GIB - 600 * MIB + 500 * MIB


@pytest.mark.parametrize(
    ("most", "used", "swap"),
    [
        ("max", 0, Swap(4 * GIB, 3 * GIB)),
        (GIB, 300 * MIB, Swap(GIB, 724 * MIB)),
        (0, 0, Swap(0, 0)),
        (GIB, 2 * GIB, Swap(GIB, 0)),
    ],
)
def test_swap_of_a_group_is_bounded_by_it_and_by_the_machine(
    tmp_path: Path, most: object, used: int, swap: Swap
) -> None:
    own = group(tmp_path, memory_swap_max=most, memory_swap_current=used)
    assert group_swap([own], HOST, tmp_path) == swap


def test_swap_is_bounded_by_the_groups_above(tmp_path: Path) -> None:
    own = group(tmp_path / "own", memory_swap_max="max", memory_swap_current=100 * MIB)
    above = group(tmp_path / "above", memory_swap_max=200 * MIB, memory_swap_current=150 * MIB)
    assert group_swap([own, above], HOST, tmp_path) == Swap(200 * MIB, 50 * MIB)


def test_swap_that_is_not_told_of_or_never_used_is_not_counted(tmp_path: Path) -> None:
    own = group(tmp_path, memory_swap_max="max", memory_swap_current=0)
    assert group_swap([own], None, tmp_path) == group_swap([own], HostMemory(1, 1, 0, 0), tmp_path) == Swap()
    (tmp_path / "proc/sys/vm").mkdir(parents=True)
    (tmp_path / "proc/sys/vm/swappiness").write_text("0\n")
    assert group_swap([own], HOST, tmp_path) == Swap(), "the kernel would kill first"
    (tmp_path / "proc/sys/vm/swappiness").write_text("60\n")
    assert group_swap([own], HOST, tmp_path) != Swap()
    assert group_swap([own, group(tmp_path / "silent")], HOST, tmp_path) == Swap()
    assert group_swap([MemoryGroup(1, tmp_path, "")], HOST, tmp_path) == Swap(), "version 1 counts otherwise"


STEPS = """
import mmap, os, signal, sys
def told(): print(flush=True), sys.stdin.readline()
told(); block = bytearray(64 << 20)
told(); child = os.fork()
if child == 0: signal.pause()
told(); file = open(sys.argv[1], "w+b"); file.truncate(64 << 20); mapped = mmap.mmap(file.fileno(), 0); mapped[:] = bytes(64 << 20)
told(); del block
told(); os.kill(child, signal.SIGKILL)
"""


def test_what_a_program_touches_is_counted_without_files_and_forks(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", STEPS, str(tmp_path / "file")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdin is not None and child.stdout is not None
    gauge = Gauge(child.pid)
    touched = []
    for step in range(5):
        child.stdout.readline()
        time.sleep(0.05)
        sample = gauge.read(float(10 * step), near=True)
        assert sample is not None and sample.touched_bytes is not None
        touched.append(round(sample.touched_bytes / (64 << 20), 1))
        child.stdin.write("\n")
        child.stdin.flush()
    child.communicate(timeout=20)
    gauge.close()
    assert touched == [0.0, 1.0, 1.0, 1.0, 0.0]
