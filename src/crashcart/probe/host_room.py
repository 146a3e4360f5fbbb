"""How much of the host's memory a new process's work may take: what was named, or what is left here.

Covers: sizes as people type them, the tightest of the container's room and the machine's, the share that Python and
TensorFlow take before any work begins, which is taken off.
Does not cover: GPUs (`fit/available.py`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from crashcart.errors import UsageError
from crashcart.probe import memory
from crashcart.probe._read import ROOT
from crashcart.units import parse_size, size

# Measured with TensorFlow 2.21 on a CPU: 538 MB resident after the import, 585 MB in a small training.
PROCESS_BYTES = 600 << 20


@dataclass(frozen=True, slots=True)
class Room:
    """Memory for what a process will do; `bytes` is None where nobody knows how much there is."""

    bytes: int | None
    where: str | None
    """given, container or machine"""
    note: str | None = None
    """How it was reckoned."""
    limit_bytes: int | None = None
    """The limit that a process meets as a whole, its own share included."""


def given_bytes(given: str | int) -> int:
    """A size that was named. UsageError for one that cannot be meant."""
    try:
        whole = parse_size(given) if isinstance(given, str) else int(given)
    except (TypeError, ValueError) as error:
        raise UsageError(str(error), "Such as 16G, or 512M.") from None
    if whole < 1:
        raise UsageError(f"received {given!r} as the memory to fit into; expected more than nothing", "Such as 16G.")
    return whole


def less_the_process(whole: int, where: str, before: str) -> Room:
    """What a new process leaves of it for its work; `before` names that: before any model."""
    note = f"of {size(whole)}, Python and TensorFlow take {size(PROCESS_BYTES)} before {before}"
    return Room(max(0, whole - PROCESS_BYTES), where, note, whole)


def tightest(root: Path = ROOT) -> tuple[int, str] | None:
    """The least of what the groups and the machine have left now, and which of them it is."""
    return min(memory.rooms(os.getpid(), root), default=None)


def room(given: str | int | None, before: str, own_process: bool = False, root: Path = ROOT) -> Room:
    """What was named, else what is left here. In the process that does the work, nothing is taken off: it is there already."""
    if given is not None:
        return less_the_process(given_bytes(given), "given", before)
    left = tightest(root)
    if left is None:
        return Room(None, None)
    if own_process:
        return Room(left[0], left[1], f"{size(left[0])} left now", None)
    return less_the_process(*left, before)
