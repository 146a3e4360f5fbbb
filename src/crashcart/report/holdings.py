"""What a run holds in memory: its use against the limit, its largest named objects, what each cell of a notebook added.

Covers: the figures from the evidence, as text and as a table in a notebook.
Does not cover: why it died (`text.py`), where a fresh look at the objects comes from (`jupyter/`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crashcart.evidence import Cell, Evidence, Holder
from crashcart.report.cells import first_line
from crashcart.report.safe import flat
from crashcart.units import MIB, size

_MOST_HOLDERS = 10
_MOST_CELLS = 12
_NOTABLE_BYTES = MIB


@dataclass(frozen=True, slots=True)
class Holdings:
    """The memory of one run at one moment; shows itself as text, and as tables in a notebook."""

    used_bytes: int | None
    limit_bytes: int | None
    resident_bytes: int | None
    holders: tuple[Holder, ...]
    cells: tuple[Cell, ...]
    remark: str = ""

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> list[str]:
        lines = [f"memory: {self._use()}"]
        lines += _table([("variable", "holds", "what it is"), *_holder_rows(self.holders)])
        lines += _table([("cell", "added", "peak", "begins with"), *_cell_rows(self.cells)])
        return [*lines, f"  {self.remark}"] if self.remark else lines

    def _use(self) -> str:
        own = f"{size(self.resident_bytes)} in this process" if self.resident_bytes is not None else ""
        of = f" of {size(self.limit_bytes)}" if self.limit_bytes is not None else ""
        used = f"{size(self.used_bytes)}{of} in use" if self.used_bytes is not None else ""
        return ", ".join(each for each in (used, own) if each) or "unknown"

    def _repr_html_(self) -> str:
        from html import escape

        parts = [f"<p><b>memory</b>: {escape(self._use())}</p>"]
        for rows in (
            [("variable", "holds", "what it is"), *_holder_rows(self.holders)],
            [("cell", "added", "peak", "begins with"), *_cell_rows(self.cells)],
        ):
            if len(rows) > 1:
                head, *body = ("".join(f"<td>{escape(flat(each))}</td>" for each in row) for row in rows)
                parts.append(f"<table><thead><tr>{head.replace('td>', 'th>')}</tr></thead><tbody>")
                parts += [f"<tr>{row}</tr>" for row in body] + ["</tbody></table>"]
        if self.remark:
            parts.append(f"<p>{escape(self.remark)}</p>")
        return "".join(parts)

    def to_document(self) -> dict[str, Any]:
        """The figures as plain values."""
        return {
            "schema": 1,
            "used_bytes": self.used_bytes,
            "limit_bytes": self.limit_bytes,
            "resident_bytes": self.resident_bytes,
            "holders": [{"name": each.name, "bytes": each.bytes, "kind": each.kind} for each in self.holders],
            "cells": [
                {"number": each.number, "id": each.id, "added_bytes": each.added_bytes, "peak_bytes": each.peak_bytes}
                for each in self.cells
            ],
        }


def from_evidence(evidence: Evidence, holders: Sequence[Holder] | None = None, remark: str = "") -> Holdings:
    """The last figures of a recording; `holders` where a fresh look has been taken."""
    sample = evidence.samples[-1] if evidence.samples else None
    noted = evidence.holders[-1].holders if evidence.holders else ()
    return Holdings(
        used_bytes=sample.used_bytes if sample else None,
        limit_bytes=sample.limit_bytes if sample else None,
        resident_bytes=sample.rss_bytes if sample else None,
        holders=tuple(holders if holders is not None else noted),
        cells=evidence.cells or (),
        remark=remark,
    )


def _holder_rows(holders: Sequence[Holder]) -> list[tuple[str, ...]]:
    largest = sorted(holders, key=lambda each: -each.bytes)[:_MOST_HOLDERS]
    return [(each.name, size(each.bytes), f"{each.kind} {each.detail}".strip()) for each in largest]


def _cell_rows(cells: Sequence[Cell]) -> list[tuple[str, ...]]:
    """The cells that changed memory notably, most first; one that still runs has no figure yet."""
    notable = [each for each in cells if abs(each.added_bytes or 0) >= _NOTABLE_BYTES]
    most = sorted(notable, key=lambda each: -(each.added_bytes or 0))[:_MOST_CELLS]
    return [(f"[{each.number}]", _signed(each.added_bytes or 0), _peak(each), first_line(each)) for each in most]


def _signed(count_bytes: int) -> str:
    return f"+{size(count_bytes)}" if count_bytes >= 0 else f"−{size(-count_bytes)}"


def _peak(cell: Cell) -> str:
    return size(cell.peak_bytes) if cell.peak_bytes is not None else ""


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of equal width, the head included; nothing where there is no row but the head."""
    if len(rows) < 2:
        return []
    rows = [[flat(text) for text in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  " + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
