"""What was learnt of a data set, for the terminal.

Covers: the headline, what was read, every finding in full, the lists that were written, what to type next; plain,
coloured and ASCII forms at any width.
Does not cover: the words (`data_words.py`), or which stream they go to (`cli/data.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from crashcart.evidence import Evidence
from crashcart.finding import Report
from crashcart.report import data_words, safe
from crashcart.report.text import Line, painted, print_best, render_text
from crashcart.report.wrap import wrap
from crashcart.survey import Survey

_LABEL_WIDTH = 11
_HANG = 2
_MEASURE = 110
_NARROWEST = 40


def print_survey(report: Report, evidence: Evidence, stream: TextIO) -> None:
    """Write the report in the best form that the stream can show."""
    print_best(
        lambda width, colour, ascii_only: render_survey(report, evidence, width, colour, ascii_only=ascii_only), stream
    )


def render_survey(report: Report, evidence: Evidence, width: int, colour: bool, *, ascii_only: bool = False) -> str:
    """The report in lines no wider than `width`, with a newline at the end of each."""
    survey = evidence.survey
    assert survey is not None
    measure = min(max(width, _NARROWEST), _MEASURE)
    found = render_text(report, evidence, width, colour, ascii_only=ascii_only, whole=True) if report.findings else ""
    head, foot = list(_head(survey, measure)), list(_foot(report, survey, measure))
    if ascii_only:
        head, foot = _in_ascii(head), _in_ascii(foot)
    parts = [painted(head, colour), found, painted(foot, colour)]
    return "\n".join(part for part in parts if part)


def _in_ascii(lines: list[Line]) -> list[Line]:
    return [[(safe.ascii_only(text), style) for text, style in line] for line in lines]


def _head(survey: Survey, width: int) -> Iterator[Line]:
    style = "name" if survey.damaged_files else "headline"
    yield from ([(row, style)] for row in wrap(data_words.headline(survey), width, _HANG))
    yield from _block("read", [data_words.counted(survey)], width)
    yield from _block("quick", [data_words.quick(survey)], width)
    yield from _block("labels", [data_words.labels(survey)], width)
    yield from _block("took", [data_words.pace(survey)], width, "dim")
    yield from _block("ended", data_words.restarts(survey), width, "dim")


def _foot(report: Report, survey: Survey, width: int) -> Iterator[Line]:
    yield from _block("written", list(data_words.written(report)), width)
    yield from _block("next", list(data_words.following(report, survey)), width)


def _block(label: str, items: list[str], width: int, style: str = "") -> Iterator[Line]:
    rows = [
        row for item in items if item for row in wrap(safe.flat(safe.bounded(item, 600)), width - _LABEL_WIDTH, _HANG)
    ]
    for index, row in enumerate(rows):
        yield [(f"  {label if index == 0 else ''}".ljust(_LABEL_WIDTH), "label"), (row, style)]
