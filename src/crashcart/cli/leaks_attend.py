"""What `crashcart leaks` adds to a recorded run: the looks inside of the program.

Covers: an attendant (`record/attend.py`) that changes the environment and nothing else.
Does not cover: the looks themselves (`leaks/inside/`), or any acting: the program is not guarded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from crashcart.leaks import attend
from crashcart.sample import Sample


class LeakWatch:
    """Has the program look at itself."""

    ceiling_bytes: int | None = None
    wants_words = False

    def __init__(self, precise: bool) -> None:
        self._precise = precise

    def environment(self, environment: Mapping[str, str], folder: Path) -> dict[str, str]:
        """The environment in which the looks are loaded."""
        return dict(attend.environment(environment, folder, self._precise))

    def begin(self, pid: int, note: Callable[..., None]) -> None:
        """Nothing is done from outside."""

    def look(self, sample: Sample, resident: Mapping[int, int]) -> float | None:
        """Nothing is done from outside."""
        return None

    def end(self) -> dict[str, Any]:
        """Nothing is left to do."""
        return {}
