"""A report for the terminal.

Covers: the verdict in full, the other findings in a line each, what was not checked; plain, coloured and ASCII forms at
any width.
Does not cover: which stream the words go to (`cli/`), or more than a screenful: that is the page (`html.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from crashcart.evidence import Evidence
from crashcart.finding import Finding, Level, Report, Where
from crashcart.report import cells as notebook
from crashcart.report import safe, words
from crashcart.report.wrap import cells, cut, wrap
from crashcart.units import plural

Span = tuple[str, str]
"""A piece of a line, and its style."""
Line = list[Span]

_NAME = "crashcart: "
_LABEL_WIDTH = len(_NAME)
_HANG = 2
_MEASURE = 110
"""Prose is not set wider than this: longer lines are hard to follow back. Source lines may use the whole width."""
_NARROWEST = 32
_NARROWEST_HEADLINE = 8
_MOST_CHARS = 600
_MOST_ITEMS = 12
_MOST_ALSO = 3
_MOST_MISSING = 4
_MOST_NOISE = 4
_STYLES = {
    "name": "bold red",
    "headline": "bold",
    "certain": "bold green",
    "likely": "yellow",
    "possible": "dim",
    "note": "dim",
    "label": "cyan",
    "place": "bold",
    "source": "magenta",
    "dim": "dim",
    "": "",
}


def print_report(report: Report, evidence: Evidence | None, stream: TextIO, *, whole: bool = False) -> None:
    """Write the report in the best form that the stream can show; `whole` has every finding in full."""

    def render(width: int, colour: bool, ascii_only: bool) -> str:
        return render_text(report, evidence, width, colour, ascii_only=ascii_only, whole=whole)

    print_best(render, stream)


def print_best(render: Callable[[int, bool, bool], str], stream: TextIO) -> None:
    """Write what `render` makes of the width, whether there are colours, and whether ASCII is all that can be shown."""
    terminal = stream.isatty()
    dumb = os.environ.get("TERM") == "dumb"
    width = _terminal_width(stream) if terminal else 80
    colour = terminal and not dumb and not os.environ.get("NO_COLOR")
    text = render(width, colour, terminal and dumb)
    if not _encodable(text, stream.encoding):
        text = render(width, colour, True)
    stream.write(text)
    stream.flush()


def _terminal_width(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _encodable(text: str, encoding: str | None) -> bool:
    """Whether the stream can carry the text; one without an encoding keeps it as it is (`io.StringIO`)."""
    try:
        text.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def render_text(
    report: Report,
    evidence: Evidence | None,
    width: int,
    colour: bool,
    *,
    ascii_only: bool = False,
    whole: bool = False,
) -> str:
    """The report in lines no wider than `width`, with a newline at the end of each."""
    layout = _Layout(report, evidence or Evidence(), max(width, _NARROWEST), ascii_only)
    lines = layout.whole() if whole and report.findings else layout.lines()
    return painted(lines, colour)


def one_line(finding: Finding) -> str:
    """A finding for a list: its headline, place, and how sure and grave it is."""
    return "".join(_parts(finding))


def _parts(finding: Finding) -> tuple[str, str]:
    spot = words.spot(finding.where) if finding.where else ""
    place = f", at {spot.rsplit('/', 1)[-1]}" if spot else ""
    return safe.flat(safe.bounded(finding.headline + place, _MOST_CHARS)), f" ({_mark(finding)})"


def _mark(finding: Finding) -> str:
    """How sure it is; with its level where that is less than a problem."""
    if finding.level is Level.NOTE:
        return Level.NOTE.value
    sure = finding.confidence.value
    return f"{Level.RISK.value}, {sure}" if finding.level is Level.RISK else sure


def painted(lines: list[Line], colour: bool) -> str:
    """The lines as text, with a newline at the end of each."""
    return _coloured(lines) if colour else _plain(lines)


def _plain(lines: list[Line]) -> str:
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines)


def _coloured(lines: list[Line]) -> str:
    """The lines with colours by rich; the plain form where rich cannot be imported in the program's environment."""
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        return _plain(lines)
    console = Console(
        force_terminal=True, color_system="standard", no_color=False, legacy_windows=False, highlight=False
    )
    with console.capture() as capture:
        for line in lines:
            spans = [(text, _STYLES[style]) for text, style in line]
            console.print(Text.assemble(*spans, no_wrap=True, overflow="ignore"), soft_wrap=True)
    return capture.get()


class _Layout:
    """A report on lines: labels in one column, text in the next."""

    def __init__(self, report: Report, evidence: Evidence, width: int, ascii_only: bool) -> None:
        self._report = report
        self._evidence = evidence
        self._width = width
        self._measure = min(width, _MEASURE)
        self._ascii: Callable[[str], str] = safe.ascii_only if ascii_only else str

    def lines(self) -> list[Line]:
        verdict = self._report.verdict
        body = list(self._verdict(verdict) if verdict else self._nothing())
        headline = verdict.headline if verdict else self._nothing_headline()
        mark = _mark(verdict) if verdict else ""
        return [*self._headline(headline, mark, body), *body, *self._also(), *self._noise(), *self._notes()]

    def whole(self) -> list[Line]:
        """Every finding in full, the gravest first; what could not be checked at the end."""
        lines: list[Line] = []
        for finding in self._report.findings:
            body = list(self._verdict(finding))
            lines += [*self._headline(finding.headline, _mark(finding), body), *body, []]
        return [*lines, *self._notes()] if any(self._notes()) else lines[:-1]

    def _clean(self, text: str) -> str:
        return self._ascii(safe.flat(safe.bounded(text, _MOST_CHARS)))

    def _headline(self, headline: str, said: str, body: list[Line]) -> Iterator[Line]:
        """The headline with its mark flush right, as far right as the lines below reach."""
        style = said.rpartition(", ")[2]
        if self._measure - _LABEL_WIDTH - len(said) < _NARROWEST_HEADLINE + 4:
            said = said.partition(",")[0]
        mark = f"({said})" if said else ""
        rows = wrap(self._clean(headline), self._measure - _LABEL_WIDTH - 2 - len(mark))
        widest = max((sum(cells(text) for text, _ in line) for line in body), default=0)
        right = max(min(widest, self._measure), _LABEL_WIDTH + cells(rows[-1]) + 2 + len(mark))
        for index, row in enumerate(rows):
            line = [(_NAME, "name") if index == 0 else (" " * _LABEL_WIDTH, ""), (row, "headline")]
            if mark and index == len(rows) - 1:
                line.append((mark.rjust(right - _LABEL_WIDTH - cells(row)), style))
            yield line

    def _verdict(self, finding: Finding) -> Iterator[Line]:
        yield from self._block("because", finding.because)
        if finding.where:
            yield from self._where(finding.where)
        yield from self._caller(finding.where)
        yield from self._block("held", finding.held)
        yield from self._block("cells", notebook.summary(finding.cause, self._evidence))
        yield from self._block("try", finding.remedy)

    def _block(self, label: str, items: Sequence[str]) -> Iterator[Line]:
        """The items under one label, each with a hanging indent so that the next one is seen to begin."""
        shown = [self._clean(item) for item in items[:_MOST_ITEMS]]
        if len(items) > _MOST_ITEMS:
            shown.append(f"and {len(items) - _MOST_ITEMS} more")
        rows = (row for item in shown for row in wrap(item, self._measure - _LABEL_WIDTH, _HANG))
        yield from self._labelled(label, ([(row, "")] for row in rows))

    def _labelled(self, label: str, rows: Iterator[Line]) -> Iterator[Line]:
        for index, row in enumerate(rows):
            yield [(f"  {label if index == 0 else ''}".ljust(_LABEL_WIDTH), "label"), *row]

    def _where(self, where: Where) -> Iterator[Line]:
        yield from self._labelled("where", self._where_rows(where))

    def _caller(self, where: Where | None) -> Iterator[Line]:
        """The line of the notebook's cell that led there."""
        frame = notebook.called_from(where, self._evidence)
        if frame is not None:
            place = self._clean(f"called from {frame.spot}" if where else frame.spot)
            yield from self._labelled(
                "" if where else "where",
                iter([[(place, "place"), ("  ", ""), (self._ascii(_source(frame.source)), "source")]]),
            )

    def _where_rows(self, where: Where) -> Iterator[Line]:
        """Place and source on one line where both fit, else the source on its own lines."""
        room = self._width - _LABEL_WIDTH
        place = self._clean(words.place_words(where, words.cwd_of(self._evidence)))
        source = self._ascii(_source(where.source))
        if place and source and cells(place) + 2 + cells(source) <= room:
            yield [(place, "place"), ("  ", ""), (source, "source")]
            return
        if place:
            yield from ([(row, "place")] for row in wrap(place, self._measure - _LABEL_WIDTH, _HANG))
        if source:
            indent = " " * (_HANG if place else 0)
            yield from ([(indent + row, "source")] for row in wrap(source, room - len(indent), _HANG))

    def _also(self) -> Iterator[Line]:
        others = self._report.findings[1:]
        shown = [self._cut(*_parts(each)) for each in others[:_MOST_ALSO]]
        if len(others) > _MOST_ALSO:
            more = f"and {len(others) - _MOST_ALSO} more: crashcart why --json"
            shown.extend(wrap(more, self._measure - _LABEL_WIDTH, _HANG))
        yield from self._labelled("also:", ([(row, "")] for row in shown))

    def _noise(self) -> Iterator[Line]:
        """Notices of a log that look alarming and end nothing."""
        notices = words.noise(self._report)
        shown = [self._cut(each, "") for each in notices[:_MOST_NOISE]]
        if len(notices) > _MOST_NOISE:
            shown.append(f"and {len(notices) - _MOST_NOISE} more")
        yield from self._labelled("noise", ([(row, "dim")] for row in shown))

    def _cut(self, text: str, mark: str) -> str:
        room = self._measure - _LABEL_WIDTH - len(mark)
        return cut(self._ascii(text), room, self._ascii("…")) + mark

    def _notes(self) -> Iterator[Line]:
        fix = self._report.figures.get("fix")
        if fix and len(self._report.findings) > 1:
            yield from self._dim(f"all at once: {fix}")
        missing = words.not_checked(self._report, self._evidence)
        if missing:
            more = [f"{len(missing) - _MOST_MISSING} more"] if len(missing) > _MOST_MISSING else []
            yield from self._dim(f"not checked: {', '.join([*missing[:_MOST_MISSING], *more])}")
        if "recording" in self._report.figures:
            ask = "%why" if self._evidence.cells else "crashcart why --html report.html"
            yield from self._dim(f"more: {ask}")

    def _dim(self, text: str) -> Iterator[Line]:
        yield from ([("  " + row, "dim")] for row in wrap(self._clean(text), self._measure - 2, _HANG))

    def _nothing_headline(self) -> str:
        subject = self._report.subject or "the program"
        return f"nothing was found in {subject}" if self._report.checked else f"{subject} could not be checked"

    def _nothing(self) -> Iterator[Line]:
        seen = [
            words.section_name(each)
            for each in words.sections_of(self._evidence)
            if getattr(self._evidence, each) is not None
        ]
        rules = plural(len(self._report.checked), "rule")
        yield from self._block("checked", [f"{rules} over {', '.join(seen)}" if seen else rules])
        if self._evidence.ending:
            yield from self._block("ending", [words.ending_words(self._evidence.ending)])


def _source(source: str | None) -> str:
    """A source line as it stands, without its indentation."""
    return safe.visible(safe.bounded(source or "", _MOST_CHARS)).replace("\n", " ").expandtabs(4).strip()
