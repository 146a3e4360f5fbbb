"""One frame of a Python program: the smallest place that facts are tied to.

Covers: the frozen type that `evidence.py` and the sections beside it share.
Does not cover: how frames are read (`probe/`), or which of them are told (`report/`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Frame:
    """One Python frame."""

    file: str
    line: int
    function: str
    source: str | None = None
    own: bool = False
    """Whether the frame is the user's own code (not the standard library, an installed package or crashcart)."""
    looped: bool | None = None
    """Whether the line is in a loop of its function, as far as its source tells."""
    cell: str | None = None
    """The number of the notebook cell that it is in (or its id, where it has no number)."""
    cell_id: str | None = None

    @property
    def spot(self) -> str:
        """Its shortest name: `train.py:5`, `cell [7], line 3`."""
        if self.cell is not None:
            return f"cell [{self.cell}], line {self.line}"
        return f"{self.file.rpartition('/')[2]}:{self.line}"
