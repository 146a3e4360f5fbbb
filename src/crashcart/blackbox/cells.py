"""The cells that a kernel ran, and which of them a frame is in.

Covers: reading the rings that the hook's cell part wrote; giving frames of cells their cell, line and source.
Does not cover: what cells mean for a verdict.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from crashcart.blackbox.ring import read_payloads
from crashcart.evidence import Cell, Frame
from crashcart.probe.source import cell_lines, loop_at, statement_at

Record = dict[str, Any]
# IPython runs the body of these without the line of the magic, under a name of its own.
_BODIES = {"<timed exec>": "%%time", "<magic-timeit>": "%%timeit", "<string>": "%%prun"}


def read_cells(records: Iterable[Record], started_unix_s: float) -> Iterator[Cell]:
    """Pairs of beginnings and ends, in order. What a cell has run on its part belongs to it."""
    running: dict[int, list[Cell]] = {}
    for record in records:
        nest = running.setdefault(record["pid"], [])
        if record.get("kind") == "began":
            cell = _began(record, started_unix_s)
            if nest and cell.number is None:
                nest[0] = replace(
                    nest[0], parts=(*nest[0].parts, (cell.file, lines_before(nest[0].source, cell.source)))
                )
            else:
                yield from nest[:1]
                nest.clear()
            nest.append(cell)
        elif record.get("kind") == "ended" and nest:
            ended = nest.pop()
            if not nest:
                yield _ended(ended, record, started_unix_s)
    yield from (nest[0] for nest in running.values() if nest)


def lines_before(source: str, part: str) -> int | None:
    """How many lines of a cell come before a part of its text; None where that is not in it."""
    begins = source.find(part.strip("\n"))
    return source.count("\n", 0, begins) - _blank_lines(part.strip("\n")) if begins >= 0 else None


def _began(record: Record, started_unix_s: float) -> Cell:
    return Cell(
        number=record.get("number"),
        id=record.get("id"),
        file=str(record["file"]),
        source=str(record["source"]),
        pid=record["pid"],
        began_s=record["unix_s"] - started_unix_s,
        before_bytes=record.get("resident_bytes"),
    )


def _ended(cell: Cell, record: Record, started_unix_s: float) -> Cell:
    return replace(
        cell,
        ended_s=record["unix_s"] - started_unix_s,
        error=record.get("error"),
        after_bytes=record.get("resident_bytes"),
        peak_bytes=record.get("peak_bytes"),
    )


@dataclass
class CellFrames:
    """Gives frames of cells what is known of their cell."""

    cells: tuple[Cell, ...]
    _above: dict[str, tuple[Cell, int | None]] = field(default_factory=dict)
    """By the file names of cells and of their parts: the cell, and how many of its lines come before."""
    _lines: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._above = {cell.file: (cell, _blank_lines(cell.source)) for cell in self.cells}
        for cell in self.cells:
            self._above |= {file: (cell, above) for file, above in cell.parts}

    def find(self, frame: Frame) -> Frame | None:
        """The frame with its cell; None where it is in none."""
        cell, above = self._above.get(frame.file) or self._body(frame.file)
        if cell is not None and above is not None:
            return self.at(cell, frame.line + above, frame)
        made_up = cell is not None or (bool(self.cells) and frame.file.startswith("<"))
        return replace(frame, own=False) if made_up else None

    def at(self, cell: Cell, line: int, frame: Frame) -> Frame:
        """The frame as one of that line of the cell."""
        lines = self._lines.setdefault(cell.file, cell_lines(cell.source))
        name = str(cell.number) if cell.number is not None else cell.id
        source = _as_written(cell, line) or statement_at(lines, line)
        looped = loop_at(lines, line)
        return replace(frame, line=line, own=True, source=source, looped=looped, cell=name, cell_id=cell.id)

    def _body(self, file: str) -> tuple[Cell | None, int | None]:
        """The last cell and the lines above its body, if the file is the name that its magic gives to that."""
        if file not in _BODIES or not self.cells:
            return None, None
        last = self.cells[-1]
        lines = last.source.split("\n")
        above = next((number for number, line in enumerate(lines, 1) if line.startswith(_BODIES[file])), None)
        return (last, above + _blank_lines("\n".join(lines[above:]))) if above else (None, None)


def _as_written(cell: Cell, line: int) -> str | None:
    """A line that is no Python: a magic, or a command for the shell. None for Python."""
    written = cell.source.split("\n")[line - 1 : line]
    return written[0].strip() if written and cell_lines(written[0]) != written else None


def _blank_lines(source: str) -> int:
    """How many empty lines a text begins with: IPython leaves them out before it counts."""
    return source[: len(source) - len(source.lstrip())].count("\n")


def last_request(folder: Path) -> Record | None:
    """The beginning of the cell that never ended, with the message that asked for it; None where none was running."""
    for path in folder.glob("cells-*.ring"):
        nest: list[Record] = []
        for record in map(json.loads, read_payloads(path.read_bytes())):
            if record.get("kind") == "ended":
                nest = nest[:-1]
            elif record.get("kind") == "began":
                nest = [*(nest if record.get("number") is None else ()), record]
        if nest and nest[0].get("header"):
            return nest[0]
    return None
