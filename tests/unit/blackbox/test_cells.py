"""Cells of a notebook, read back from a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crashcart.blackbox.cells import CellFrames, last_request, read_cells
from crashcart.blackbox.ring import Ring
from crashcart.evidence import Frame


def began(number: int | None, source: str, at_s: float = 1.0, **more: Any) -> dict[str, Any]:
    file = f"/tmp/ipykernel_7/{number}.py"
    facts = {"kind": "began", "pid": 7, "unix_s": 100.0 + at_s, "number": number, "id": f"id-{number}", "file": file}
    return {**facts, "source": source, "resident_bytes": 1000, **more}


def ended(at_s: float, **more: Any) -> dict[str, Any]:
    return {"kind": "ended", "pid": 7, "unix_s": 100.0 + at_s, "resident_bytes": 1500, **more}


def test_a_beginning_and_an_end_are_one_cell() -> None:
    records = [began(1, "x = 1"), ended(3.0, peak_bytes=2000, error="ValueError"), began(2, "y = 2", 4.0)]
    first, second = read_cells(records, started_unix_s=100.0)
    assert (first.began_s, first.ended_s, first.added_bytes, first.peak_bytes) == (1.0, 3.0, 500, 2000)
    assert (first.error, first.name) == ("ValueError", "cell [1]")
    assert (second.ended_s, second.added_bytes) == (None, None)


def test_an_end_without_a_beginning_is_left_out() -> None:
    """The ring has overwritten the beginning."""
    assert list(read_cells([ended(1.0)], 100.0)) == []


def test_a_cell_that_was_interrupted_by_the_next_keeps_its_place() -> None:
    first, second = read_cells([began(1, "a"), began(2, "b", 2.0)], 100.0)
    assert (first.number, first.ended_s, second.number) == (1, None, 2)


def frames_of(*cells: dict[str, Any]) -> CellFrames:
    return CellFrames(tuple(read_cells(cells, 100.0)))


def test_a_frame_gets_its_cell_line_and_source() -> None:
    cells = frames_of(began(3, "%matplotlib inline\nfor i in range(9):\n    data.append(\n        i)\n"))
    frame = cells.find(Frame("/tmp/ipykernel_7/3.py", 3, "<module>"))
    assert frame is not None
    assert (frame.cell, frame.cell_id, frame.line, frame.own) == ("3", "id-3", 3, True)
    assert (frame.source, frame.looped, frame.spot) == ("data.append(i)", True, "cell [3], line 3")


def test_a_frame_of_a_file_is_in_no_cell() -> None:
    assert frames_of(began(1, "x")).find(Frame("/home/me/train.py", 3, "main")) is None


def test_the_body_of_a_timed_cell_is_counted_from_the_cells_first_line() -> None:
    cells = frames_of(began(4, "# slow\n%%time\nx = 1\ncrash()"))
    frame = cells.find(Frame("<timed exec>", 2, "<module>"))
    assert frame is not None and (frame.line, frame.source) == (4, "crash()")


def test_a_magic_is_shown_as_it_was_written() -> None:
    frame = frames_of(began(1, "x = 1\n%time crash()")).find(Frame("/tmp/ipykernel_7/1.py", 2, "<module>"))
    assert frame is not None and frame.source == "%time crash()"


def test_empty_lines_at_the_top_count() -> None:
    """IPython drops them before it compiles; the notebook shows them."""
    frame = frames_of(began(1, "\n  \nx = 1\ncrash()")).find(Frame("/tmp/ipykernel_7/1.py", 2, "<module>"))
    assert frame is not None and (frame.line, frame.source) == (4, "crash()")


def part(source: str, at_s: float) -> dict[str, Any]:
    return began(None, source, at_s, file=f"/tmp/ipykernel_7/part-{at_s}.py")


def test_the_body_of_a_magic_is_a_part_of_its_cell() -> None:
    cells = list(read_cells([began(2, "%%capture\n\nx = 1\ncrash()\n"), part("\nx = 1\ncrash()\n", 1.1)], 100.0))
    assert [each.number for each in cells] == [2]
    frame = CellFrames(tuple(cells)).find(Frame("/tmp/ipykernel_7/part-1.1.py", 2, "<module>"))
    assert frame is not None and (frame.cell, frame.line, frame.source) == ("2", 4, "crash()")


def test_the_end_of_a_part_is_not_the_end_of_its_cell() -> None:
    (cell,) = read_cells([began(2, "run('a')\nb"), part("a", 1.1), ended(1.2)], 100.0)
    assert (cell.number, cell.ended_s) == (2, None)
    (cell,) = read_cells([began(2, "run('a')\nb"), part("a", 1.1), ended(1.2), ended(1.3)], 100.0)
    assert cell.ended_s == pytest.approx(1.3)


def test_code_that_stands_in_no_cell_is_not_the_users_line() -> None:
    cells = CellFrames(tuple(read_cells([began(2, "run(text)"), part("made up", 1.1)], 100.0)))
    for file in ("/tmp/ipykernel_7/part-1.1.py", "<timed eval>", "<string>"):
        frame = cells.find(Frame(file, 1, "<module>", own=True))
        assert frame is not None and frame.own is False, file


def test_the_request_of_the_cell_that_never_ended(tmp_path: Path) -> None:
    ring = Ring(str(tmp_path / "cells-7.ring"), 65536)
    ring.append(began(1, "x", header={"msg_id": "a"}, idents=["00"]))
    ring.append(ended(2.0))
    assert last_request(tmp_path) is None
    ring.append(began(2, "y", 3.0, header={"msg_id": "b"}, idents=["00"]))
    for _ in ("in a part", "after it"):
        request = last_request(tmp_path)
        assert request is not None and request["header"] == {"msg_id": "b"}
        ring.append(part("y", 3.1) if _ == "in a part" else ended(3.2))
