"""What a pipeline holds, for the terminal.

Covers: the verdict, a row for each stage, what would hold less, the findings in a line each; plain, coloured and ASCII
forms.
Does not cover: the words (`pipeline_words.py`), or which stream they go to (`cli/pipeline.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from crashcart.finding import Finding, Level, Report
from crashcart.report import pipeline_words, safe
from crashcart.report.text import Line, painted, print_best
from crashcart.report.wrap import cells, cut, wrap
from crashcart.stages import Change, PipelineMemory
from crashcart.units import duration, plural, size

_MEASURE, _NARROWEST = 110, 48
_LABEL_WIDTH = 11
_WIDE, _COLUMNS, _COLUMNS_NARROW = 66, 43, 23
"""From which width elements and counts are shown, and what the figures take beside the stage's name."""
_HANG = 2
_MOST_CHANGES = 5
_MOST_FINDINGS = 8
_KILLED = "P101"
_STYLES = {True: "certain", None: "likely", False: "name"}


def print_pipeline(memory: PipelineMemory, report: Report, stream: TextIO) -> None:
    """Write the answer in the best form that the stream can show."""
    print_best(
        lambda width, colour, ascii_only: render_pipeline(memory, report, width, colour, ascii_only=ascii_only), stream
    )


def render_pipeline(
    memory: PipelineMemory, report: Report, width: int, colour: bool, *, ascii_only: bool = False
) -> str:
    """The answer in lines no wider than `width`, with a newline at the end of each."""
    lines = list(_lines(memory, report, min(max(width, _NARROWEST), _MEASURE)))
    if ascii_only:
        lines = [[(safe.ascii_only(text), style) for text, style in line] for line in lines]
    return painted(lines, colour)


def _lines(memory: PipelineMemory, report: Report, width: int) -> Iterator[Line]:
    style = _STYLES[memory.fits] if memory.available_bytes is not None else "headline"
    yield from ([(row, style)] for row in wrap(pipeline_words.headline(memory), width, _HANG))
    yield from _stages(memory, width)
    for index, text in enumerate(_tried(memory, report)):
        yield from _block("try" if index == 0 else "", text, width)
    for finding in report.findings[:_MOST_FINDINGS]:
        if finding.code != _KILLED:
            yield from _finding(finding, width)
    yield from _block("unknown", _unknown(memory), width)
    for index, text in enumerate(memory.assumed):
        yield from _block("assumed" if index == 0 else "", text, width)
    yield from _block("how", _how(memory), width, "dim")


def _stages(memory: PipelineMemory, width: int) -> Iterator[Line]:
    rows = pipeline_words.rows(memory)
    wide = width >= _WIDE
    room = width - (_COLUMNS if wide else _COLUMNS_NARROW)
    name = min(room, max((cells(_indented(each.label)) for each in rows), default=0))
    head = f"{'element':>10} {'count':>8} {'holds':>11}" if wide else f"{'holds':>11}"
    yield [(f"  {'stage':<{name}}  {head}", "label")]
    for each in rows:
        label = cut(_indented(each.label), name)
        figures = f"{each.element:>10} {each.count:>8} {each.holds:>11}" if wide else f"{each.holds:>11}"
        text = f"  {label}{' ' * (name - cells(label))}  {figures}"
        yield [(text, "place" if each.here else ""), ("  ← here" if each.here else "", "name")]


def _indented(label: str) -> str:
    """A label that is harmless to the terminal, with its indentation."""
    return " " * (len(label) - len(label.lstrip())) + safe.flat(label.strip())


def _tried(memory: PipelineMemory, report: Report) -> list[str]:
    """What the verdict says, and changes that were estimated."""
    there = memory.available_bytes
    if there is not None and memory.high_bytes <= there:
        return []
    said = [each for finding in report.findings if finding.code == _KILLED for each in finding.remedy]
    besides = [each for each in said if not any(each.startswith(f"{one.how}:") for one in memory.changes)]
    return [*besides, *(_change(each, memory) for each in memory.changes)][:_MOST_CHANGES]


def _change(change: Change, memory: PipelineMemory) -> str:
    there = memory.available_bytes
    whole, worst = change.held_bytes, change.high_bytes
    fits = (
        "" if there is None else ", fits" if worst <= there else ", may fit" if whole <= there else ", not enough alone"
    )
    return f"{change.how}: {size(whole)}{fits}{f' ({change.note})' if change.note else ''}"


def _finding(finding: Finding, width: int) -> Iterator[Line]:
    label = {Level.PROBLEM: "problem", Level.RISK: "risk", Level.NOTE: "note"}[finding.level]
    yield from _block(label, f"{finding.headline} ({finding.code})", width, "headline")
    yield from _block("", f"because {finding.because[0]}", width)
    for each in finding.remedy[:2]:
        yield from _block("", f"→ {each}", width)


def _unknown(memory: PipelineMemory) -> str:
    if not memory.unknown:
        return ""
    return f"{', '.join(memory.unknown)}: not in the figures, which are lower bounds"


def _how(memory: PipelineMemory) -> str:
    seen = max((each.element.seen for each in memory.pipeline.root.walk() if each.element is not None), default=0)
    were = f"{plural(seen, 'real element')} {'was' if seen == 1 else 'were'} looked at"
    looked = f"{were}, no buffer was filled" if seen else "by the shapes of the elements"
    took = f", in {duration(memory.seconds)}" if memory.seconds is not None else ""
    worst = f"; at worst {size(memory.high_bytes)}" if memory.high_bytes > memory.held_bytes else ""
    return f"{looked}{took}{worst}"


def _block(label: str, text: str, width: int, style: str = "") -> Iterator[Line]:
    if not text:
        return
    rows = wrap(safe.flat(safe.bounded(text, 600)), width - _LABEL_WIDTH, _HANG)
    for index, row in enumerate(rows):
        yield [(f"  {label if index == 0 else ''}".ljust(_LABEL_WIDTH), "label"), (row, style)]
