"""The cells that a kernel ran, and which of them a frame is in.

Covers: reading the rings that the hook's cell part wrote; giving frames of cells their cell, line and source.
Does not cover: what cells mean for a verdict.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from crashcart.blackbox.ring import read_payloads
from crashcart.evidence import Cell, Frame
from crashcart.probe.source import cell_lines, loop_at, statement_at

Record = dict[str, Any]
# IPython runs the body of these without the line of the magic, under a name of its own.
_BODIES = {"<timed exec>": "%%time", "<magic-timeit>": "%%timeit"}


def read_cells(records: Iterable[Record], started_unix_s: float) -> Iterator[Cell]:
    """Pairs of beginnings and ends, in order."""
    running: dict[int, Cell] = {}
    for record in records:
        if record.get("kind") == "began":
            if record["pid"] in running:
                yield running.pop(record["pid"])
            running[record["pid"]] = _began(record, started_unix_s)
        elif record.get("kind") == "ended" and record["pid"] in running:
            yield _ended(running.pop(record["pid"]), record, started_unix_s)
    yield from running.values()


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
    _by_file: dict[str, Cell] = field(default_factory=dict)
    _lines: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._by_file = {cell.file: cell for cell in self.cells}

    def find(self, frame: Frame) -> Frame | None:
        """The frame with its cell; None where it is in none."""
        cell, line = self._by_file.get(frame.file), frame.line
        if cell is None and frame.file in _BODIES and self.cells:
            last = self.cells[-1]
            above = _lines_above(last.source, _BODIES[frame.file])
            cell, line = (last, line + above) if above else (None, line)
        if cell is None:
            return None
        lines = self._lines.setdefault(cell.file, cell_lines(cell.source))
        name = str(cell.number) if cell.number is not None else cell.id
        return replace(
            frame, line=line, own=True, source=statement_at(lines, line), looped=loop_at(lines, line), cell=name,
            cell_id=cell.id,
        )  # fmt: skip


def _lines_above(source: str, magic: str) -> int:
    """How many lines of the cell come before the body: up to the magic, and itself."""
    lines = source.split("\n")
    return next((number for number, line in enumerate(lines, 1) if line.startswith(magic)), 0)


def last_request(folder: Path) -> Record | None:
    """The beginning of the cell that never ended, with the message that asked for it; None where none was running."""
    for path in folder.glob("cells-*.ring"):
        records = [json.loads(payload) for payload in read_payloads(path.read_bytes())]
        if records and records[-1].get("kind") == "began" and records[-1].get("header"):
            return cast(Record, records[-1])
    return None
