"""Who may act on a run while it is being watched.

Covers: the shape of an attendant, such as the guard; the shell makes one and hands it to `session.run`.
Does not cover: any acting. A room that acts does not know this module; it only has these functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from crashcart.sample import Sample


class Attendant(Protocol):
    """Sees every sample and may act. An exception from it ends its part of the run, never the run."""

    ceiling_bytes: int | None
    """A limit of its own on the resident memory of the program and its descendants."""

    wants_words: bool
    """Set by it when the stacks of all threads and the largest objects are wanted now, whatever the program's memory is;
    the watcher takes both after the look, and sets it back."""

    def environment(self, environment: Mapping[str, str], folder: Path) -> dict[str, str]:
        """The environment for the program, before it starts."""

    def begin(self, pid: int, note: Callable[..., None]) -> None:
        """The program has started; `note(kind, text, **facts)` leaves an event in its recording."""

    def look(self, sample: Sample, resident: Mapping[int, int]) -> float | None:
        """A sample, and the resident bytes by process, the program itself first; how soon it wants the next, if it matters."""

    def end(self) -> dict[str, Any]:
        """The program has ended."""
