"""A program's growth for the terminal.

Covers: the leak with its holder, its line, why and what to try; the all-clear with its bound; why nothing was checked; plain,
coloured and ASCII forms at any width.
Does not cover: the words (`leaks_words.py`), or which stream they go to (`cli/leaks.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from crashcart.evidence import Ending, Evidence, place
from crashcart.finding import Finding, Report
from crashcart.report import leaks_words, safe, words
from crashcart.report.text import Line, one_line, painted, print_best
from crashcart.report.wrap import cells, wrap

_LABEL_WIDTH = 11
_HANG = 2
_MEASURE = 110
_NARROWEST = 40
_MOST_CHARS = 600
_MOST_ALSO = 4
_MOST_TRY = 3


def print_leaks(report: Report, evidence: Evidence, stream: TextIO) -> None:
    """Write the answer in the best form that the stream can show."""
    print_best(
        lambda width, colour, ascii_only: render_leaks(report, evidence, width, colour, ascii_only=ascii_only), stream
    )


def render_leaks(report: Report, evidence: Evidence, width: int, colour: bool, *, ascii_only: bool = False) -> str:
    """The answer in lines no wider than `width`, with a newline at the end of each."""
    lines = list(_lines(report, evidence, max(width, _NARROWEST)))
    if ascii_only:
        lines = [[(safe.ascii_only(text), style) for text, style in line] for line in lines]
    return painted(lines, colour)


def _lines(report: Report, evidence: Evidence, width: int) -> Iterator[Line]:
    measure = min(width, _MEASURE)
    finding = leaks_words.leaking(report)
    yield from _headline(report, finding, evidence.ending, measure)
    if finding is not None:
        yield from _leak(finding, evidence, width)
    rest = [each for each in report.findings if each is not finding]
    for index, each in enumerate(rest[:_MOST_ALSO]):
        yield from _block("also" if index == 0 else "", one_line(each), measure)
    yield from _foot(report, evidence, measure, finding is not None)


def _headline(report: Report, finding: Finding | None, ending: Ending | None, width: int) -> Iterator[Line]:
    text, end = leaks_words.headline(report), leaks_words.death(report, ending) if finding is not None else ""
    style = "name" if finding is not None else "likely" if leaks_words.not_checked(report) else "certain"
    mark = f" ({finding.confidence.value})" if finding is not None else ""
    whole = f"{text}{mark}{f'; {end}' if end else ''}"
    yield from ([(row, style)] for row in wrap(safe.flat(safe.bounded(whole, _MOST_CHARS)), width, _HANG))


def _leak(finding: Finding, evidence: Evidence, width: int) -> Iterator[Line]:
    measure = min(width, _MEASURE)
    for index, held in enumerate(finding.held[:_MOST_TRY]):
        yield from _block("held by" if index == 0 else "", held, measure)
    yield from _where(finding, evidence, width)
    yield from _block("why", finding.because[0], measure)
    for index, each in enumerate(finding.because[1:]):
        yield from _block("seen" if index == 0 else "", each, measure, "dim")
    for index, each in enumerate(finding.remedy[:_MOST_TRY]):
        yield from _block("try" if index == 0 else "", each, measure)


def _where(finding: Finding, evidence: Evidence, width: int) -> Iterator[Line]:
    """Place and source on one line where both fit, else the source below it. Where no line is known that grows, the one that
    takes the steps, as what it is."""
    steps = evidence.growth.steps if evidence.growth is not None else None
    where = finding.where or (place(steps.frame) if steps is not None else None)
    if where is None:
        return
    room = width - _LABEL_WIDTH
    spot = safe.flat(safe.bounded(words.spot(where, words.cwd_of(evidence)), _MOST_CHARS))
    source = safe.visible(safe.bounded(where.source or "", _MOST_CHARS)).replace("\n", " ").strip()
    label = (f"  {'grows' if finding.where is not None else 'steps'} at".ljust(_LABEL_WIDTH), "label")
    if cells(spot) + 2 + cells(source) <= room:
        yield [label, (spot, "place"), ("  " if source else "", ""), (source, "source")]
        return
    for index, row in enumerate(wrap(spot, room, _HANG)):
        yield [label if index == 0 else (" " * _LABEL_WIDTH, ""), (row, "place")]
    yield from ([(" " * (_LABEL_WIDTH + _HANG), ""), (row, "source")] for row in wrap(source, room - _HANG, _HANG))


def _foot(report: Report, evidence: Evidence, width: int, leaks: bool) -> Iterator[Line]:
    growth = evidence.growth
    if growth is None:
        for index, each in enumerate(leaks_words.next_steps(report)):
            yield from _block("try" if index == 0 else "", each, width)
        yield from _ending(evidence, width)
        return
    if not leaks and leaks_words.not_checked(report):
        yield from _block("seen", f"in the process itself, {leaks_words.below(report.figures)}", width)
    if not leaks and report.figures.get("trend"):
        yield from _block("memory", str(report.figures["trend"]), width)
    yield from _block("watched", leaks_words.watched(growth), width, "dim")
    for index, each in enumerate(leaks_words.lacking(growth)):
        yield from _block("not seen" if index == 0 else "", each, width, "dim")
    yield from _ending(evidence, width)


def _ending(evidence: Evidence, width: int) -> Iterator[Line]:
    """How the program itself ended, where that is not as it should."""
    ending = evidence.ending
    if ending is not None and (ending.kind != "exit" or ending.exit_code != 0):
        yield from _block("ended", f"the program {words.ending_words(ending)}: `crashcart why` says why", width)


def _block(label: str, text: str, width: int, style: str = "") -> Iterator[Line]:
    if not text:
        return
    rows = wrap(safe.flat(safe.bounded(text, _MOST_CHARS)), width - _LABEL_WIDTH, _HANG)
    for index, row in enumerate(rows):
        yield [(f"  {label if index == 0 else ''}".ljust(_LABEL_WIDTH), "label"), (row, style)]
