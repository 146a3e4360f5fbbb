"""How many cores this process may use.

Covers: the cores it is bound to (`taskset`), and the share that a container grants (cgroup v1 and v2), as it stands inside of the
container.
Does not cover: what others leave of them.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

_V2 = "sys/fs/cgroup/cpu.max"
_V1 = ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "sys/fs/cgroup/cpu/cpu.cfs_period_us")


def usable_cores(root: Path = Path("/")) -> int:
    """At least 1. A share of one and a half cores is worth two processes."""
    quota = _quota(root)
    bound = len(os.sched_getaffinity(0))
    return bound if quota is None else max(1, min(bound, math.ceil(quota)))


def _quota(root: Path) -> float | None:
    """In cores; None where there is no limit."""
    found = _words(root / _V2) or [*_words(root / _V1[0]), *_words(root / _V1[1])]
    try:
        quota, period = (int(word) for word in found)
    except ValueError:  # `max`, or nothing there
        return None
    return quota / period if quota > 0 and period > 0 else None


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return []
