"""One look at a program's memory. A section of the evidence (`evidence.py`), apart from it: a watcher loads this and no more.

Covers: plain frozen data.
Does not cover: where it comes from (`record/gauge.py`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """Memory and processor use at one moment. Each figure may be unknown."""

    at_s: float
    rss_bytes: int | None = None
    tree_rss_bytes: int | None = None
    """Resident bytes of the program with all its descendants."""
    used_bytes: int | None = None
    """What counts against the tightest limit (page cache that can be dropped is left out)."""
    limit_bytes: int | None = None
    cpu_s: float | None = None
    """Processor seconds that the program and its descendants have used so far."""
    threads: int | None = None
    children: int | None = None
    gpu_used_bytes: int | None = None
    touched_bytes: int | None = None
    """What the program's processes came to hold of their own since the first sample, less what they gave back; pages of
    files are not counted, nor what a fork shares."""
