"""What only a look at the present adds to a recording."""

from __future__ import annotations

import os
import time
from pathlib import Path

from crashcart.evidence import Cell, Ending, Evidence, Frame, Holder, HolderNote, Program, Stack, StackDump
from crashcart.finding import Where
from crashcart.why import explain
from crashcart.why.collect import _since_last_cell, _with_filling_lines


def evidence(path: Path) -> Evidence:
    stack = Stack("main", (Frame(str(path), 2, "<module>", own=True),), main=True)
    return Evidence(
        program=Program(("python", str(path)), str(path.parent), 7, time.time() - 60, path.name),
        ending=Ending("signal", at_s=50.0, signal=9),
        stacks=(StackDump(1.0, 7, (stack,)),),
        holders=(HolderNote(1.0, 7, (Holder("rows", "list of ndarray", 1 << 30, count=9), Holder("x", "ndarray", 8))),),
    )


def filled(path: Path) -> list[Frame | None]:
    notes = _with_filling_lines(evidence(path)).holders
    assert notes is not None
    return [each.filled_at for each in notes[0].holders]


def test_the_only_line_that_fills_a_container_is_known(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("rows = []\nwhile True:\n    rows.append(step())\n")
    os.utime(path, (time.time() - 3600,) * 2)
    assert filled(path) == [Frame(str(path), 3, "<module>", "rows.append(step())", own=True), None]


def test_several_lines_or_a_changed_file_are_not_guessed_at(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("rows = []\nrows.append(1)\nwhile True:\n    rows.append(step())\n")
    os.utime(path, (time.time() - 3600,) * 2)
    assert filled(path) == [None, None]
    path.write_text("rows = []\nwhile True:\n    rows.append(step())\n")
    assert filled(path) == [None, None], "written after the end"


def kernel(*cells: Cell, seen_s: tuple[float, ...], reason: str = "beat") -> Evidence:
    stack = Stack("main", (Frame("/tmp/k/1.py", 6, "<module>", own=True, cell="1"),), main=True)
    dumps = tuple(StackDump(at_s, 7, (stack,), reason) for at_s in seen_s)
    ending = Ending("signal", at_s=9.0, signal=9, signal_name="SIGKILL")
    return _since_last_cell(Evidence(cells=cells, stacks=dumps, ending=ending))


ENDED = Cell(1, "a", "/tmp/k/1.py", "x", 7, 1.0, 3.0)
RUNNING = Cell(2, "b", "/tmp/k/2.py", "y", 7, 4.0)


def test_a_line_of_an_earlier_cell_says_nothing_of_the_end() -> None:
    evidence = kernel(ENDED, RUNNING, seen_s=(2.0, 3.9))
    assert evidence.stacks == ()
    verdict = explain(evidence).verdict
    assert verdict is not None and verdict.where == Where(cell="2", cell_id="b")


def test_what_was_seen_in_the_running_cell_or_by_a_fatal_signal_stays() -> None:
    """A function of an earlier cell may be what the running cell calls."""
    stacks = kernel(ENDED, RUNNING, seen_s=(2.0, 5.0)).stacks
    assert stacks is not None and [dump.at_s for dump in stacks] == [5.0]
    assert kernel(ENDED, RUNNING, seen_s=(2.0,), reason="fatal").stacks


def test_between_two_cells_there_is_no_line() -> None:
    evidence = kernel(ENDED, seen_s=(2.0,))
    verdict = explain(evidence).verdict
    assert evidence.stacks == () and verdict is not None and verdict.where is None
