"""A notebook's cells in the forms of a report."""

from __future__ import annotations

from dataclasses import replace

from crashcart.evidence import Cell, Evidence, Frame, Holder, Sample, Stack, StackDump
from crashcart.finding import Cause, Confidence, Finding, Report, Where
from crashcart.report import cells
from crashcart.report.holdings import Holdings, from_evidence
from crashcart.report.html import render_html
from crashcart.report.json import to_document
from crashcart.report.text import render_text

GIB = 1 << 30
FIRST = Cell(1, "a", "/tmp/k/1.py", "data = load()\nmore()", 7, 0.0, 5.0, before_bytes=GIB // 10, after_bytes=2 * GIB)
SMALL = Cell(2, "b", "/tmp/k/2.py", "x = 1", 7, 6.0, 6.1, before_bytes=2 * GIB, after_bytes=2 * GIB + 4096)
LAST = Cell(3, "c", "/tmp/k/3.py", "use(data)", 7, 7.0)
INNER = Frame("/tmp/k/1.py", 2, "use", "return data * 2", own=True, cell="1", cell_id="a")
OUTER = Frame("/tmp/k/3.py", 1, "<module>", "use(data)", own=True, cell="3", cell_id="c")
DUMP = StackDump(8.0, 7, (Stack("main", (OUTER, INNER), main=True),), "memory")
EVIDENCE = Evidence(cells=(FIRST, SMALL, LAST), stacks=(DUMP,))
WHERE = Where(INNER.file, 2, "use", INNER.source, "1", cell_id="a")


def report(cause: Cause = Cause.CONTAINER_MEMORY, where: Where | None = WHERE) -> Report:
    finding = Finding(cause, "it was killed", ("a fact",), ("a step",), Confidence.CERTAIN, where, code="W101")
    return Report("kernel", (finding,), ("W101",), ())


def test_a_place_in_another_cell_comes_with_the_line_that_led_there() -> None:
    text = render_text(report(), EVIDENCE, 100, colour=False)
    assert "where    cell [1], line 2 in use  return data * 2" in text
    assert "called from cell [3], line 1  use(data)" in text


def test_without_a_place_the_running_line_is_the_place() -> None:
    assert "  where    cell [3], line 1  use(data)" in render_text(report(where=None), EVIDENCE, 100, colour=False)


def test_a_place_in_the_running_cell_is_not_said_twice() -> None:
    where = Where(OUTER.file, 1, "<module>", OUTER.source, "3")
    assert "called from" not in render_text(report(where=where), EVIDENCE, 100, colour=False)


def test_an_old_stack_says_nothing_of_a_later_cell() -> None:
    old = replace(EVIDENCE, stacks=(replace(DUMP, at_s=6.5),))
    assert cells.running_line(old) is None


def test_what_cells_added_is_told_where_memory_ran_out() -> None:
    text = render_text(report(), EVIDENCE, 100, colour=False)
    assert "cells    cell [1] added 1.90 GiB: data = load() …" in text
    assert "cell [2] added" not in text
    assert "added" not in render_text(report(Cause.NATIVE_CRASH), EVIDENCE, 100, colour=False)


def test_the_page_and_the_document_have_the_cells() -> None:
    hostile = replace(LAST, source="<script>alert(1)</script>")
    page = render_html(report(), replace(EVIDENCE, cells=(FIRST, hostile)))
    assert "called from cell [3]" in page
    assert "never ended" in page and "<script>" not in page
    document = to_document(report(), EVIDENCE)
    assert document["cell"] == {"number": 3, "id": "c", "line": 1, "source": "use(data)"}
    assert [each["number"] for each in document["cells"]] == [1, 2, 3]


def test_a_program_without_cells_has_none_in_its_document() -> None:
    assert "cells" not in to_document(report(), Evidence())


HOLDER = Holder("data", "ndarray", GIB, "float64 (134217728,)")


def test_holdings_as_text() -> None:
    evidence = replace(EVIDENCE, samples=(Sample(8.0, 2 * GIB, None, 3 * GIB, 4 * GIB),))
    assert str(from_evidence(evidence, [HOLDER])).splitlines() == [
        "memory: 3.00 GiB of 4.00 GiB in use, 2.00 GiB in this process",
        "  variable  holds     what it is",
        "  data      1.00 GiB  ndarray float64 (134217728,)",
        "  cell  added      peak  begins with",
        "  [1]   +1.90 GiB        data = load() …",
    ]


def test_holdings_escape_what_programs_name() -> None:
    found = Holdings(None, None, None, (replace(HOLDER, name="<b>x", kind="\x1b[31mred"),), ())
    assert "<b>x" not in found._repr_html_() and "&lt;b&gt;x" in found._repr_html_()
    assert "\x1b" not in str(found)
    assert str(Holdings(None, None, None, (), ())) == "memory: unknown"
