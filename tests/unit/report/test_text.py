from __future__ import annotations

import io
import os
import re
import sys
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashcart.evidence import Ending, Evidence
from crashcart.finding import Confidence, Level, Report, Where
from crashcart.report.text import one_line, print_report, render_text
from crashcart.report.wrap import cells

from . import examples

OOM_AT_80 = """\
crashcart: train.py was killed: its container ran out of memory      (certain)
  because  the kernel log names pid 4711: "Memory cgroup out of memory",
             anon-rss 2.79 GiB
           the group's limit is 2.79 GiB (memory.limit_in_bytes); it grew from
             0.6 to 2.8 GiB in 3.1 s
  where    train.py:5 in load (seen 0.3 s before the end)
             large_tensor = np.random.rand(10000, 10000, 3).astype(np.float32)
  held     large_tensor 2.24 GiB float64 (10000, 10000, 3)
           history 212 MiB list of 340 EagerTensor
  try      keep the array in float32 from the start:
             np.random.default_rng().random(shape, dtype=np.float32) needs
             1.12 GiB instead of 2.24 GiB and no second copy
           raise the container's limit above 4 GiB: docker run --memory 5g …
           crashcart run --guard -- python train.py
  also:    the list history grows by one tensor in each step, at tra… (possible)
           the shuffle buffer of train_ds would hold 5.61 GiB when full (likely)
  more: crashcart why --html report.html
"""
ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.TextIOWrapper):
    def __init__(self, encoding: str = "utf-8") -> None:
        self.kept = io.BytesIO()
        super().__init__(self.kept, encoding=encoding)

    def isatty(self) -> bool:
        return True

    def shown(self) -> str:
        return self.kept.getvalue().decode(self.encoding)


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TERM", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


def test_the_verdict_at_80_columns() -> None:
    assert render_text(*examples.oom(), width=80, colour=False) == OOM_AT_80


def test_the_verdict_at_200_columns_keeps_place_and_source_together() -> None:
    lines = render_text(*examples.oom(), width=200, colour=False).splitlines()
    assert lines[0].endswith("(certain)") and len(lines[0]) <= 110
    where = next(line for line in lines if line.startswith("  where"))
    assert where == f"  where    train.py:5 in load (seen 0.3 s before the end)  {examples.SOURCE}"


@pytest.mark.parametrize("name", examples.EXAMPLES)
@pytest.mark.parametrize("width", [10, 40, 80, 200])
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    for line in render_text(*examples.EXAMPLES[name](), width=width, colour=False).splitlines():
        assert cells(line) <= max(width, 32)
        assert line == line.rstrip()


@settings(deadline=None)
@given(st.text(max_size=300), st.integers(32, 200))
def test_any_headline_fits(headline: str, width: int) -> None:
    report = Report("x", (replace(examples.oom_finding(), headline=headline, because=(headline or "x",)),))
    lines = render_text(report, None, width, False).splitlines()
    assert all(cells(line) <= width for line in lines)
    assert sum("(certain)" in line for line in lines) >= 1


def test_the_rest_of_many_findings_is_counted() -> None:
    report = examples.oom_report(others=7)
    shown = render_text(report, None, 80, False)
    assert shown.count("  also:    ") == 1
    assert "and 4 more: crashcart why --json" in shown
    assert "also" not in render_text(replace(report, findings=report.findings[:1]), None, 80, False)


def test_what_was_not_checked_is_said_with_its_reason() -> None:
    shown = " ".join(render_text(*examples.segfault(), width=80, colour=False).split())
    assert "kernel log (permission denied; run as root or set kernel.dmesg_restrict=0)" in shown


def test_the_page_is_offered_only_with_a_recording() -> None:
    report, evidence = examples.oom()
    assert "more: crashcart why --html report.html" in render_text(report, evidence, 80, False)
    assert "--html" not in render_text(replace(report, figures={}), evidence, 80, False)


def test_nothing_found_says_what_was_checked() -> None:
    shown = render_text(*examples.nothing(), width=80, colour=False)
    assert shown.startswith("crashcart: nothing was found in train.py\n")
    assert "3 rules over program, memory over time, how it ended" in shown
    assert "exited with code 0 after 31 s" in shown
    assert "not checked: native crash" in shown


def test_nothing_checked_is_not_a_pass() -> None:
    report = Report("train.py", (), (), examples.oom_report().unchecked)
    shown = render_text(report, None, 80, False)
    assert shown.startswith("crashcart: train.py could not be checked\n")


def test_a_cell_and_an_op() -> None:
    report, evidence = examples.shape_error()
    assert "cell [7], line 3, op MatMul" in render_text(report, evidence, 80, False)


def test_a_source_line_is_shown_without_a_place() -> None:
    report = Report("x", (replace(examples.oom_finding(), where=Where(source="\tx = 1\n")),))
    assert "\n  where    x = 1\n" in render_text(report, None, 80, False)


def test_hostile_text_shows_no_control_character() -> None:
    shown = render_text(*examples.hostile(), width=80, colour=False)
    assert not {char for char in shown if unicodedata.category(char) in ("Cc", "Cf", "Cs")} - {"\n"}
    assert "\\u202egpj.exe\\u202c" in " ".join(shown.split())
    assert len(shown) < 20_000


def test_colour_changes_no_word() -> None:
    coloured = render_text(*examples.oom(), width=80, colour=True)
    assert "\x1b[" in coloured
    assert ANSI.sub("", coloured) == OOM_AT_80


def test_colour_reads_no_markup() -> None:
    report = Report("x", (replace(examples.oom_finding(), headline="[bold]x[/bold] :warning: [/]"),))
    assert "[bold]x[/bold] :warning: [/]" in ANSI.sub("", render_text(report, None, 120, True))


def test_without_rich_the_report_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert render_text(*examples.oom(), width=80, colour=True) == OOM_AT_80


def test_a_stream_that_is_no_terminal_gets_80_plain_columns() -> None:
    stream = io.StringIO()
    print_report(*examples.oom(), stream=stream)
    assert stream.getvalue() == OOM_AT_80


def test_a_terminal_gets_colour() -> None:
    stream = Terminal()
    print_report(*examples.oom(), stream=stream)
    assert ANSI.search(stream.shown())


def test_the_terminal_tells_its_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "get_terminal_size", lambda fd: os.terminal_size((50, 20)))
    monkeypatch.setattr(Terminal, "fileno", lambda self: 2)
    stream = Terminal()
    print_report(*examples.oom(), stream=stream)
    assert max(len(line) for line in ANSI.sub("", stream.shown()).splitlines()) in range(40, 51)


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_that_wants_no_colour(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    stream = Terminal()
    print_report(*examples.oom(), stream=stream)
    assert not ANSI.search(stream.shown())
    assert stream.shown().isascii() is (name == "TERM")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_an_encoding_without_the_signs_gets_ascii(encoding: str) -> None:
    stream = Terminal(encoding)
    print_report(*examples.oom(), stream=stream)
    assert stream.shown().isascii()
    assert "docker run --memory 5g ..." in stream.shown()


def test_one_line() -> None:
    assert one_line(examples.oom_finding()) == (
        "train.py was killed: its container ran out of memory, at train.py:5 (certain)"
    )
    assert one_line(replace(examples.oom_finding(), where=None, headline="a\nb")) == "a b (certain)"


def test_evidence_is_not_needed() -> None:
    shown = render_text(examples.oom_report(), None, 80, False)
    assert f"{examples.CWD}/train.py:5 in load" in shown
    assert render_text(examples.oom_report(), Evidence(ending=Ending("exit")), 80, False)


@pytest.mark.parametrize(
    ("level", "mark"), [(Level.PROBLEM, "(likely)"), (Level.RISK, "(risk, likely)"), (Level.NOTE, "(note)")]
)
@pytest.mark.parametrize("colour", [False, True])
def test_a_mark_tells_the_level(level: Level, mark: str, colour: bool) -> None:
    finding = replace(examples.oom_finding(), level=level, confidence=Confidence.LIKELY)
    for whole in (False, True):
        shown = render_text(Report("x", (finding, finding)), None, 80, colour, whole=whole)
        assert ANSI.sub("", shown).count(mark) == 2
    assert one_line(finding).endswith(mark)


@pytest.mark.parametrize("width", range(32, 45))
def test_a_long_mark_fits_a_narrow_terminal(width: int) -> None:
    finding = replace(examples.oom_finding(), level=Level.RISK, confidence=Confidence.POSSIBLE)
    lines = render_text(Report("x", (finding,)), None, width, False, whole=True).splitlines()
    assert all(cells(line) <= width for line in lines)
    assert any("(risk" in line for line in lines)
