"""How much memory the processes that check may take: the same on this machine and on the workers of a cluster.

Covers: what is there now, in the container and on the machine; the share of one process; how many processes there is room for.
Does not cover: holding a process to it (`worker.py`).
"""

from __future__ import annotations

import os

from crashcart.probe.memory import rooms

# Of the memory that is there now, what all processes together may take; the rest is for the page cache and for others.
_FRACTION = 0.75
LEAST_BYTES = 512 << 20
"""A process takes this much before its first file, with the libraries that decode."""
MOST_BYTES = 2 << 30
"""Checks read in blocks; the largest picture that they decode takes three quarters of a gigabyte, twice for a moment."""


def left_bytes() -> int | None:
    """Memory that is there now; None where nobody says so."""
    return min((left for left, _ in rooms(os.getpid())), default=None)


def share_bytes(processes: int) -> int:
    """What one of so many processes may take."""
    there = left_bytes()
    if there is None:
        return MOST_BYTES
    return min(MOST_BYTES, max(LEAST_BYTES, int(there * _FRACTION / processes)))


def most_processes(cores: int) -> int:
    """One for each core, as far as there is memory for them."""
    there = left_bytes()
    return cores if there is None else max(1, min(cores, there // LEAST_BYTES))
