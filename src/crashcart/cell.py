"""One execution of a notebook's cell. A section of the evidence (`evidence.py`).

Covers: plain frozen data.
Does not cover: where it comes from (`blackbox/cells.py`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cell:
    """One execution of a notebook's cell."""

    number: int | None
    """The execution count; None for code that a front end ran without one."""
    id: str | None
    file: str
    """What its frames have for a file name."""
    source: str
    pid: int
    began_s: float
    ended_s: float | None = None
    """None where it never ended."""
    error: str | None = None
    """The name of the exception that ended it."""
    before_bytes: int | None = None
    """The kernel's resident memory when it began."""
    after_bytes: int | None = None
    peak_bytes: int | None = None
    """The kernel's highest mark, if it was reached in this cell."""
    parts: tuple[tuple[str, int | None], ...] = ()
    """The file names under which parts of it ran (the body of `%%capture`), each with the number of its lines that come before;
    None where the text is not in it."""

    @property
    def name(self) -> str:
        """What people call it: `cell [7]`."""
        return f"cell [{self.number}]" if self.number is not None else f"cell {self.id or '?'}"

    @property
    def added_bytes(self) -> int | None:
        """By how much memory was more after it than before."""
        return self.after_bytes - self.before_bytes if self.after_bytes and self.before_bytes else None
