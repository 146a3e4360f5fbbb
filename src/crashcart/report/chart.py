"""Memory over time as one inline SVG.

Covers: the curves, the limit, marked moments, axes; a title and a description for readers who do not see it. Colours
come from the page's style sheet by class, so that light, dark and print each have their own.
Does not cover: what is shown (`series.py`) or the legend (the page).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape

from crashcart.evidence import Evidence
from crashcart.report import safe
from crashcart.report.series import Memory, Moment, Point, memory_of, size_ticks, time_ticks
from crashcart.report.words import size_words
from crashcart.report.wrap import cells, cut

_LEFT = 66
_RIGHT = 14
_BOTTOM = 34
_LANE = 17
_LANES = 3
_HEADROOM = 1.1
_CHAR = 6.4
"""Width of a character of the labels (12 px sans-serif), on the broad side."""
_MOST_LABEL_CHARS = 30


def memory_chart(evidence: Evidence, width: int = 920, height: int = 330, name: str = "memory") -> str | None:
    """The chart as an SVG element, or None where there is nothing to draw. `name` keeps its ids apart from others'."""
    memory = memory_of(evidence)
    return draw(memory, width, height, name) if memory else None


def draw(memory: Memory, width: int, height: int, name: str) -> str:
    """The SVG element of what is to be shown."""
    lanes = _lanes(memory, _Plot(memory, width, height, 0))
    plot = _Plot(memory, width, height, max(lanes.values(), default=-1) + 1)
    parts = [
        tag("title", "Memory over time", id=f"{name}-title"),
        tag("desc", memory.told(), id=f"{name}-desc"),
        *_axes(plot, max(3, min(8, width // 110))),
        *_limit(plot),
        *_curves(plot),
        *_marks(plot, lanes),
    ]
    attributes = {"class_": "chart", "viewBox": f"0 0 {width} {height}", "role": "img"}
    return tag("svg", parts, **attributes, aria_labelledby=f"{name}-title {name}-desc")


@dataclass(frozen=True, slots=True)
class _Plot:
    """The plane: where a moment and a figure lie on it."""

    memory: Memory
    width: int
    height: int
    lanes: int

    @property
    def top(self) -> float:
        return 12.0 + _LANE * self.lanes

    @property
    def bottom(self) -> float:
        return float(self.height - _BOTTOM)

    @property
    def right(self) -> float:
        return float(self.width - _RIGHT)

    @property
    def most_bytes(self) -> float:
        bound = self.memory.drawn_bound
        return max(_HEADROOM * max(self.memory.peak[1], bound.bytes if bound else 0.0), 1.0)

    def x(self, at_s: float) -> float:
        share = (at_s - self.memory.start_s) / (self.memory.end_s - self.memory.start_s)
        return _LEFT + share * (self.right - _LEFT)

    def y(self, count_bytes: float) -> float:
        return self.bottom - max(0.0, count_bytes / self.most_bytes) * (self.bottom - self.top)


def tag(name: str, inside: str | Iterable[str] | None = None, **attributes: object) -> str:
    """An element. A string inside is text and is made harmless; a list inside is elements; attributes are our own."""
    pairs = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    opened = name + "".join(f' {key}="{escape(short(value))}"' for key, value in pairs)
    if inside is None:
        return f"<{opened}/>"
    content = escape(_plain(inside)) if isinstance(inside, str) else "".join(inside)
    return f"<{opened}>{content}</{name}>"


def short(value: object) -> str:
    """A number of the drawing, as short as it may be."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def _plain(text: str) -> str:
    return safe.flat(safe.bounded(text, 400))


def _axes(plot: _Plot, most_times: int) -> Iterator[str]:
    for value, words in size_ticks(plot.most_bytes):
        y = plot.y(value)
        yield tag("line", class_="grid" if value else "axis", x1=_LEFT, x2=plot.right, y1=y, y2=y)
        yield tag("text", words, class_="tick", x=_LEFT - 8, y=y + 4, text_anchor="end")
    for at_s, words in time_ticks(plot.memory.start_s, plot.memory.end_s, most_times):
        x = plot.x(at_s)
        anchor = "end" if x > plot.right - 20 else "middle"
        yield tag("line", class_="axis", x1=x, x2=x, y1=plot.bottom, y2=plot.bottom + 5)
        yield tag("text", words, class_="tick", x=x, y=plot.bottom + 22, text_anchor=anchor)


def _curves(plot: _Plot) -> Iterator[str]:
    """The curves, the first one on top of the others and over a filled area."""
    for curve in reversed(plot.memory.curves):
        path = _path(plot, curve.points)
        if curve is plot.memory.curves[0]:
            first, last = plot.x(curve.points[0][0]), plot.x(curve.points[-1][0])
            yield tag(
                "path",
                class_="area",
                d=f"{path}L{short(last)} {short(plot.bottom)}L{short(first)} {short(plot.bottom)}Z",
            )
        yield tag("path", class_=f"curve {curve.key}", d=path)
        if len(curve.points) == 1:
            yield tag(
                "circle", class_=f"dot {curve.key}", cx=plot.x(curve.points[0][0]), cy=plot.y(curve.points[0][1]), r=3
            )


def _path(plot: _Plot, points: Iterable[Point]) -> str:
    places = (f"{short(plot.x(at_s))} {short(plot.y(value))}" for at_s, value in points)
    return "M" + "L".join(places)


def _limit(plot: _Plot) -> Iterator[str]:
    bound = plot.memory.drawn_bound
    if bound is None:
        return
    y = plot.y(bound.bytes)
    room = int((plot.right - _LEFT - 90) / _CHAR)
    words = cut(f"limit {size_words(bound.bytes)} ({_plain(bound.source)})", room)
    yield tag("line", class_="limit", x1=_LEFT, x2=plot.right, y1=y, y2=y)
    yield tag("text", words, class_="limit-label", x=_LEFT + 6, y=y - 6)


def _lanes(memory: Memory, plot: _Plot) -> dict[int, int]:
    """The row above the plane for each label, by the moment's place in the list; the end first, then as they fit.

    A label that fits no row is left to the mark's own tooltip and to the table below the chart.
    """
    taken: list[list[tuple[float, float]]] = [[] for _ in range(_LANES)]
    lanes: dict[int, int] = {}
    order = sorted(range(len(memory.moments)), key=lambda index: memory.moments[index].kind != "end")
    for index in order:
        moment = memory.moments[index]
        if moment.kind not in ("event", "end"):
            continue
        left, right = _extent(plot, moment)
        free = next((lane for lane in range(_LANES) if all(right < a or left > b for a, b in taken[lane])), None)
        if free is not None:
            taken[free].append((left, right))
            lanes[index] = free
    return lanes


def _extent(plot: _Plot, moment: Moment) -> tuple[float, float]:
    x, long = plot.x(moment.at_s), cells(_label(moment)) * _CHAR + 10
    return (x - long, x) if _flipped(plot, moment) else (x, x + long)


def _flipped(plot: _Plot, moment: Moment) -> bool:
    """Whether the label stands to the left of its mark, for want of room on the right."""
    return moment.kind == "end" or plot.x(moment.at_s) + cells(_label(moment)) * _CHAR + 10 > plot.right


def _label(moment: Moment) -> str:
    return cut(_plain(moment.label), _MOST_LABEL_CHARS)


def _marks(plot: _Plot, lanes: dict[int, int]) -> Iterator[str]:
    for index, moment in enumerate(plot.memory.moments):
        if moment.kind in ("beat", "words"):
            yield _dump(plot, moment)
        else:
            yield from _line(plot, moment, lanes.get(index))


def _dump(plot: _Plot, moment: Moment) -> str:
    x, y, half = plot.x(moment.at_s), plot.bottom, 3.0 if moment.kind == "beat" else 5.0
    points = ((x, y - half), (x + half, y), (x, y + half), (x - half, y))
    shape = " ".join(f"{short(a)},{short(b)}" for a, b in points)
    return tag("polygon", [tag("title", moment.label)], class_=moment.kind, points=shape)


def _line(plot: _Plot, moment: Moment, lane: int | None) -> Iterator[str]:
    """A moment as a tick above the plane, or through it for the end, with its label where a row was free."""
    x, calm = plot.x(moment.at_s), " calm" if moment.label == "exit 0" else ""
    row = plot.top if lane is None else plot.top - 8 - _LANE * lane
    foot = plot.bottom if moment.kind == "end" else plot.top + 3
    head = row if lane is None else row - 8
    yield tag("line", [tag("title", moment.label)], class_=moment.kind + calm, x1=x, x2=x, y1=head, y2=foot)
    if lane is not None:
        flipped = _flipped(plot, moment)
        side = {"x": x - 5, "text_anchor": "end"} if flipped else {"x": x + 5}
        yield tag("text", _label(moment), class_=f"{moment.kind}-label{calm}", y=row, **side)
