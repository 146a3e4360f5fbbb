"""A notebook's cells in a report: which one ran, and what each did to memory.

Covers: words and rows from the evidence's cells, for every form of a report.
Does not cover: layout.
"""

from __future__ import annotations

from crashcart.evidence import Cell, Evidence, Frame
from crashcart.finding import MEMORY_CAUSES, Cause, Where
from crashcart.units import MIB, size

NOTABLE_BYTES = 32 * MIB
_MOST_LISTED = 5
_MOST_CHARS = 60


def running_cell(evidence: Evidence) -> Cell | None:
    """The notebook cell that never ended."""
    last = evidence.cells[-1] if evidence.cells else None
    return last if last is not None and last.ended_s is None else None


def running_line(evidence: Evidence) -> Frame | None:
    """The line of that cell itself, where the last stack that was taken shows it: what is deeper may be in other cells."""
    cell = running_cell(evidence)
    if cell is None:
        return None
    dumps = [evidence.crash.python] if evidence.crash is not None and evidence.crash.python is not None else []
    dumps += list(reversed(evidence.stacks or ()))
    stacks = (stack for dump in dumps if dump.at_s == 0.0 or dump.at_s >= cell.began_s for stack in dump.stacks)
    frames = (frame for stack in stacks for frame in stack.frames)
    return next((frame for frame in frames if frame.file == cell.file), None)


def called_from(where: Where | None, evidence: Evidence) -> Frame | None:
    """The line of the running cell, where the place is somewhere else: in a function of another cell, or in a file."""
    line = running_line(evidence)
    if line is None or (where is not None and (where.file == line.file or where.cell == line.cell)):
        return None
    return line


def summary(cause: Cause, evidence: Evidence) -> list[str]:
    """What the cells added to memory, most first, where the death was about memory."""
    if cause not in MEMORY_CAUSES:
        return []
    added = [(each.added_bytes or 0, each) for each in evidence.cells or ()]
    notable = sorted((each for each in added if each[0] >= NOTABLE_BYTES), key=lambda each: -each[0])
    return [f"{cell.name} added {size(grown)}: {first_line(cell)}" for grown, cell in notable[:_MOST_LISTED]]


def first_line(cell: Cell) -> str:
    """What the cell begins with, for telling it from others."""
    lines = [line.strip() for line in cell.source.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    text = lines[0] if lines else ""
    more = len(lines) > 1 or len(text) > _MOST_CHARS
    return text[:_MOST_CHARS] + (" …" if more else "")


def running(evidence: Evidence) -> dict[str, object] | None:
    """The cell that ran at the end, for a document."""
    cell = running_cell(evidence)
    if cell is None:
        return None
    line = running_line(evidence)
    return {
        "number": cell.number,
        "id": cell.id,
        "line": line.line if line else None,
        "source": line.source if line else None,
    }


def rows(evidence: Evidence) -> list[dict[str, object]]:
    """All cells, for a document."""
    return [
        {
            "number": each.number,
            "id": each.id,
            "began_s": each.began_s,
            "ended_s": each.ended_s,
            "error": each.error,
            "before_bytes": each.before_bytes,
            "after_bytes": each.after_bytes,
            "peak_bytes": each.peak_bytes,
            "first_line": first_line(each),
        }
        for each in evidence.cells or ()
    ]
