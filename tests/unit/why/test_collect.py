"""What only a look at the present adds to a recording."""

from __future__ import annotations

import os
import time
from pathlib import Path

from crashcart.evidence import Ending, Evidence, Frame, Holder, HolderNote, Program, Stack, StackDump
from crashcart.why.collect import _with_filling_lines


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
