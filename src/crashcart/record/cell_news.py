"""Whether a notebook's kernel has begun or ended a cell since the last look.

Covers: the change times of the files that the hook writes for each cell.
Does not cover: what stands in them (`blackbox/cells.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


class CellNews:
    """The cells of one recording's processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._changed_ns = 0

    def come(self, pids: Iterable[int]) -> bool:
        """Whether there is news of any of the processes; a program that is no kernel has none."""
        changed_ns = max((self._written_ns(pid) for pid in pids), default=0)
        is_news, self._changed_ns = changed_ns > self._changed_ns, changed_ns
        return is_news

    def _written_ns(self, pid: int) -> int:
        try:
            return (self._folder / f"cells-{pid}.ring").stat().st_mtime_ns
        except OSError:
            return 0
