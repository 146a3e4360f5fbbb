"""Processes as the kernel shows them, for benches and tests: alive or not, children, memory, processor time, and their end.

Covers: figures of one process from /proc, killing a process group. Does not cover: what crashcart itself reads
(`crashcart.probe`), which is what is measured.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and was not yet waited for does not."""
    try:
        return _stat(pid)[0] not in ("Z", "X")
    except OSError:
        return False


def children(pid: int) -> list[int]:
    """The processes that it started and that still are."""
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def resident_bytes(pid: int) -> int:
    """What it holds in memory now."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def cpu_s(pid: int) -> float:
    """Processor time so far, without that of its children."""
    user, system = _stat(pid)[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def end_group(process_group: int) -> None:
    """Kill what is left of it."""
    try:
        os.killpg(process_group, signal.SIGKILL)
    except ProcessLookupError:
        return


def _stat(pid: int) -> list[str]:
    """The fields after the name, which may hold blanks."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
