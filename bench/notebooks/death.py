"""One death of the bench: a notebook, how its kernel ends, and what a good verdict says.

Covers: the `Death` type, and reading cells and marked lines: from a file in which each cell begins with `# %%`, which is no
Python (`.ipy`), since a cell may hold magics; or from a program of the death bench, cut where two blank lines part it.
Does not cover: running it (`runner.py`), judging what is said (`score.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.deaths.death import DIES_HERE, OR_HERE, PROGRAMS
from crashcart.finding import Cause

CELLS = Path(__file__).resolve().parent / "cells"
CELL_MARK = "# %%\n"
PARTS_OF_PROGRAM = "\n\n\n"
IN_CELL = "# <-- dies in this cell"
"""Of an end that comes without notice, before the watcher can have seen the line."""

Place = tuple[str, int | None]
"""The number of a cell, and a line in it; None where only the cell can be known."""


@dataclass(frozen=True, slots=True)
class Death:
    """What is run, how it ends, and what is to be said about it."""

    name: str
    client: str
    """nbclient or papermill."""
    cause: Cause | None
    """None where the kernel lives: the cell's own error is to come through as it is."""
    file: str = ""
    """The cells, beneath `cells/`; those of the name where it is not given."""
    program: str = ""
    """A program of the death bench, beneath its `programs/`, in place of a file of cells."""
    also_ok: tuple[Cause, ...] = ()
    """Other causes that the evidence allows an honest observer to name first."""
    error: str = ""
    """The cell's own error, where the kernel lives."""
    limit_mb: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    wrapper: tuple[str, ...] = ()
    """A command in front of the client's, for limits that Jupyter inherits."""
    setup: Callable[[Path], None] | None = None
    """Called with the fresh working directory."""
    signal: int | None = None
    """Sent to the kernel from outside, once it has written its pid."""

    @property
    def cells(self) -> list[str]:
        """The source of each cell."""
        if self.program:
            parts = (PROGRAMS / self.program).read_text(encoding="utf-8").split(PARTS_OF_PROGRAM)
        else:
            parts = (CELLS / f"{self.file or self.name}.ipy").read_text(encoding="utf-8").split(CELL_MARK)[1:]
        return [part.strip("\n") for part in parts]

    @property
    def places(self) -> frozenset[Place]:
        """Where it dies, or what may be named as well: the stage that holds the memory."""
        return frozenset(
            (str(number), None if text.endswith(IN_CELL) else line)
            for number, cell in enumerate(self.cells, 1)
            for line, text in enumerate(cell.split("\n"), 1)
            if text.endswith((DIES_HERE, OR_HERE, IN_CELL))
        )
