"""The estimate of a step for the terminal.

Covers: the verdict, the batch, what is held and where, remedies, how it was found; plain, coloured and ASCII forms at any width.
Does not cover: the words (`fit_words.py`), or which stream they go to (`cli/fit.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from crashcart.report import fit_words, safe
from crashcart.report.text import Line, painted, print_best
from crashcart.report.wrap import cells, cut, wrap
from crashcart.step import StepPeak
from crashcart.units import size

_LABEL_WIDTH = 11
_HANG = 2
_MEASURE = 110
_NARROWEST = 40
_MOST_REMEDIES = 6
_STYLES = {"fits": "certain", "may not fit": "likely", "does not fit": "name", "": ""}


def print_step(step: StepPeak, stream: TextIO) -> None:
    """Write the estimate in the best form that the stream can show."""
    print_best(lambda width, colour, ascii_only: render_step(step, width, colour, ascii_only=ascii_only), stream)


def render_step(step: StepPeak, width: int, colour: bool, *, ascii_only: bool = False) -> str:
    """The estimate in lines no wider than `width`, with a newline at the end of each."""
    lines = list(_lines(step, min(max(width, _NARROWEST), _MEASURE)))
    if ascii_only:
        lines = [[(safe.ascii_only(text), style) for text, style in line] for line in lines]
    return painted(lines, colour)


def _lines(step: StepPeak, width: int) -> Iterator[Line]:
    yield from _headline(step, width)
    yield from _block("batch", fit_words.liked(step), width)
    yield from _block("memory", fit_words.memory(step), width)
    held = " · ".join(f"{kind} {size(count)}" for kind, count in fit_words.kinds(step))
    yield from _block("holds", held, width)
    if step.at:
        yield from _block("peak at", fit_words.place(step, step.at), width, "place")
    yield from _table("largest", _tensor_rows(step, width - _LABEL_WIDTH))
    yield from _table("further", _remedy_rows(step, width - _LABEL_WIDTH))
    yield from _block("verified", fit_words.verified(step), width)
    for index, each in enumerate(step.assumed):
        yield from _block("assumed" if index == 0 else "", each, width)
    yield from _block("how", fit_words.method(step), width, "dim")
    yield from _block("", fit_words.agreement(step), width, "dim")


def _headline(step: StepPeak, width: int) -> Iterator[Line]:
    """Peak and verdict on one line where both fit, the verdict flush right; else the verdict on its own."""
    left, said, most = fit_words.peak(step), fit_words.verdict(step), fit_words.largest(step)
    right = "; ".join(each for each in (said, most) if each)
    verdict: Line = [(said, _STYLES[said]), ("; " if said and most else "", ""), (most, "")]
    if right and cells(left) + 2 + cells(right) <= width:
        yield [(left, "headline"), (" " * (width - cells(left) - cells(right)), ""), *verdict]
        return
    yield from ([(row, "headline")] for row in wrap(left, width, _HANG))
    if cells(right) + 2 <= width:
        yield from [[("  ", ""), *verdict]] if right else []
        return
    yield from ([("  ", ""), (text, style)] for text, style in ((said, _STYLES[said]), (most, "")) if text)


def _block(label: str, text: str, width: int, style: str = "") -> Iterator[Line]:
    if not text:
        return
    rows = wrap(safe.flat(safe.bounded(text, 600)), width - _LABEL_WIDTH, _HANG)
    yield from _table(label, ([(row, style)] for row in rows))


def _table(label: str, rows: Iterator[Line]) -> Iterator[Line]:
    for index, row in enumerate(rows):
        yield [(f"  {label if index == 0 else ''}".ljust(_LABEL_WIDTH), "label"), *row]


def _tensor_rows(step: StepPeak, room: int) -> Iterator[Line]:
    """Size, kind, layer; the operation's own name where there is room for it."""
    rows = fit_words.tensors(step)
    kind = max((cells(each.kind) for each in rows), default=0)
    place = max((cells(safe.flat(each.place)) for each in rows), default=0)
    for each in rows:
        head = f"{each.size:>9}  {each.kind:<{kind}}  "
        where = cut(safe.flat(each.place), max(4, room - cells(head)))
        left = room - cells(head) - place - 2
        own = cut(safe.flat(each.operation), left) if left >= 12 else ""
        yield [(head, ""), (where.ljust(place) if own else where, "place"), (f"  {own}" if own else "", "dim")]


def _remedy_rows(step: StepPeak, room: int) -> Iterator[Line]:
    """Name, what it saves, the figure then, what it costs; below it, what to type."""
    rows = fit_words.remedies(step)[:_MOST_REMEDIES]
    name = min(max((cells(safe.flat(each.name)) for each in rows), default=0), max(5, room - 24))
    for each in rows:
        style = "certain" if each.fits else ""
        head = f"{cut(safe.flat(each.name), name):<{name}}  {each.saved:>5}  {each.size:>9}"
        yield [(head, style), ("" if each.fits is None else "  fits" if each.fits else "", "certain")]
        told = f"{safe.flat(each.how)}{f' ({safe.flat(each.note)})' if each.note else ''}"
        yield from ([("  " + row, "dim")] for row in wrap(told, room - 2, _HANG))
