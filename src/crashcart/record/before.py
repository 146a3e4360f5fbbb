"""What is read before a program starts, to be compared when it has ended.

Covers: counts of kills, the kernel log's end, the working directory.
Does not cover: comparing (`finish.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from crashcart.probe.kernel_log import KernelLogReader
from crashcart.probe.memory import oom_kills_host


@dataclass(slots=True)
class Before:
    """How things stood before the start."""

    kernel_log: KernelLogReader
    oom_kills_host: int | None
    cwd: str
    oom_kills_group: int | None = None
    limit_hits_group: int | None = None


def read_before() -> Before:
    """Look now."""
    return Before(KernelLogReader(), oom_kills_host(), str(Path.cwd()))
