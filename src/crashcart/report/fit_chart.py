"""Memory over one step as one inline SVG, stacked by kind.

Covers: the bands, what is available, the peak with its bounds and its name, forward and backward, a tooltip at each place.
Colours come from the page's style sheet by class, so that light, dark and print each have their own.
Does not cover: the legend (the page). The horizontal axis counts operations: how long each takes depends on the machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from crashcart.report import fit_words
from crashcart.report.chart import short, tag
from crashcart.report.safe import bounded, flat
from crashcart.report.series import size_ticks
from crashcart.report.wrap import cells, cut
from crashcart.step import Moment, StepPeak
from crashcart.units import size

PROCESS = "process"
ORDER = (PROCESS, "weights", "optimizer", "constant", "other", "input", "activations", "gradients", "update", "scratch")
"""From the bottom: what stays from step to step, then what comes and goes."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 14, 32, 46
_HEADROOM = 1.08
_FAR = 2.5
"""Memory beyond this multiple of the peak is told, not drawn: it would press the bands flat."""
_LEAST_SHARE = 0.004
"""A band that is nowhere thicker than this share of the peak cannot be seen; it is counted with the others."""
_CHAR = 6.4
_LEAST_CHANGE = 0.0005
_BROAD = 600
_LEAST_PART = 0.06


@dataclass(frozen=True, slots=True)
class Band:
    """One kind over the whole step, as it lies on those below it."""

    kind: str
    name: str
    low: tuple[int, ...]
    high: tuple[int, ...]
    at_peak_bytes: int


def bands(step: StepPeak) -> list[Band]:
    """The kinds that can be seen, the lowest first; empty where the step has no moments."""
    moments = changing(step)
    if len(moments) < 2:
        return []
    columns = [_column(each, step) for each in moments]
    totals = [sum(each.values()) for each in columns]
    top, at = max(totals), totals.index(max(totals))
    seen = [kind for kind in ORDER if max(each.get(kind, 0) for each in columns) >= _LEAST_SHARE * top]
    rest = max(sum(count for kind, count in each.items() if kind not in seen) for each in columns)
    if rest >= _LEAST_SHARE * top and "other" not in seen:
        seen = [kind for kind in ORDER if kind in seen or kind == "other"]
    return _stacked(columns, seen, at)


def changing(step: StepPeak) -> list[Moment]:
    """The moments at which what is held changes; constants and reads of variables, a third of all operations, change nothing."""
    top = max((sum(each.held.values()) for each in step.moments), default=0)
    found: list[Moment] = []
    last = -1.0
    for moment in step.moments:
        total = sum(moment.held.values())
        if not found or abs(total - last) > _LEAST_CHANGE * top:
            found.append(moment)
            last = total
    return found


def _column(moment: Moment, step: StepPeak) -> dict[str, int]:
    """What is held then; on the host, with what the process takes besides its tensors at the peak."""
    beside = max(0, step.host.bytes - step.peak_bytes) if step.target == "host" and step.host is not None else 0
    return {**({PROCESS: beside} if beside else {}), **moment.held}


def _stacked(columns: Sequence[dict[str, int]], seen: Sequence[str], at: int) -> list[Band]:
    low = [0] * len(columns)
    found = []
    for kind in seen:
        amounts = [each.get(kind, 0) for each in columns]
        if kind == "other":
            amounts = [
                sum(value for name, value in each.items() if name not in seen or name == kind) for each in columns
            ]
        high = [below + amount for below, amount in zip(low, amounts, strict=True)]
        name = "beside tensors" if kind == PROCESS else fit_words.KINDS[kind]
        found.append(Band(kind, name, tuple(low), tuple(high), amounts[at]))
        low = high
    return found


def draw_step(step: StepPeak, width: int, height: int, name: str) -> str:
    """The SVG element; empty where there is nothing to draw. `name` keeps its ids apart from others'."""
    stack = bands(step)
    if not stack:
        return ""
    plot = _Plot(step, changing(step), stack, width, height)
    parts = [
        tag("title", "Memory over one step", id=f"{name}-title"),
        tag("desc", told(step), id=f"{name}-desc"),
        *_axes(plot),
        *(_band(plot, each) for each in stack),
        *_available(plot),
        *_peak(plot),
        *_tips(plot, max(20, width // 14)),
    ]
    attributes = {"class_": "chart step", "viewBox": f"0 0 {width} {height}", "role": "img"}
    return tag("svg", parts, **attributes, aria_labelledby=f"{name}-title {name}-desc")


def far_above(step: StepPeak) -> bool:
    """Whether what is available lies too far above the peak to be drawn."""
    stack = bands(step)
    return bool(stack) and step.available_bytes is not None and step.available_bytes > _FAR * max(stack[-1].high)


def told(step: StepPeak) -> str:
    """The picture in words."""
    held = ", ".join(f"{name} {size(count)}" for name, count in fit_words.kinds(step))
    at = f" at {flat(fit_words.place(step, step.at))}" if step.at else ""
    return f"Memory over the operations of one {step.phase} step: {fit_words.peak(step)}{at}. Held then: {held}."


@dataclass(frozen=True, slots=True)
class _Plot:
    """The plane: where a moment and a figure lie on it."""

    step: StepPeak
    moments: Sequence[Moment]
    stack: Sequence[Band]
    width: int
    height: int

    @property
    def totals(self) -> tuple[int, ...]:
        return self.stack[-1].high

    @property
    def peak(self) -> int:
        """The place of the highest moment."""
        return self.totals.index(max(self.totals))

    @property
    def bottom(self) -> float:
        return float(self.height - _BOTTOM)

    @property
    def right(self) -> float:
        return float(self.width - _RIGHT)

    @property
    def available(self) -> int | None:
        """What there is, where it is near enough to be drawn."""
        there = self.step.available_bytes
        return there if there is not None and there <= _FAR * max(self.totals) else None

    @property
    def most_bytes(self) -> float:
        compared = self.step.compared
        return _HEADROOM * max(max(self.totals), self.available or 0, compared.high_bytes if compared else 0, 1)

    def x(self, index: int) -> float:
        return _LEFT + index / (len(self.totals) - 1) * (self.right - _LEFT)

    def y(self, count_bytes: float) -> float:
        return self.bottom - max(0.0, count_bytes / self.most_bytes) * (self.bottom - _TOP)


def _axes(plot: _Plot) -> Iterator[str]:
    for value, words in size_ticks(plot.most_bytes):
        y = plot.y(value)
        yield tag("line", class_="grid" if value else "axis", x1=_LEFT, x2=plot.right, y1=y, y2=y)
        yield tag("text", words, class_="tick", x=_LEFT - 8, y=y + 4, text_anchor="end")
    for first, last, words in _parts(plot):
        left, right, y = plot.x(first), plot.x(last), plot.bottom + 9
        yield tag(
            "path", class_="part", d=f"M{short(left + 1)} {short(y - 4)}V{short(y)}H{short(right - 1)}V{short(y - 4)}"
        )
        yield tag("text", words, class_="tick", x=(left + right) / 2, y=y + 15, text_anchor="middle")
    broad = plot.width >= _BROAD
    words = "the operations of one step that change it, in order" if broad else "operations of one step, in order"
    yield tag("text", words, class_="tick", x=(_LEFT + plot.right) / 2, y=float(plot.height - 6), text_anchor="middle")


def _parts(plot: _Plot) -> list[tuple[int, int, str]]:
    """Forward and backward as stretches of moments, where both are long enough to be named.

    A few operations of the way back run early, since they wait for nothing: the border is where it leaves the fewest of either
    kind on the wrong side.
    """
    back = ["(backward)" in fit_words.place(plot.step, each.at) for each in plot.moments]
    last, wrong = len(back) - 1, len(back) - sum(back)
    turn, fewest = 0, wrong
    for index, each in enumerate(back, 1):
        wrong += 1 if each else -1
        if wrong < fewest:
            turn, fewest = index, wrong
    if not _LEAST_PART * last < turn < (1 - _LEAST_PART) * last:
        return []
    return [(0, turn, "forward"), (turn, last, "backward and update")]


def _band(plot: _Plot, band: Band) -> str:
    upper = [f"{short(plot.x(i))} {short(plot.y(value))}" for i, value in enumerate(band.high)]
    lower = [f"{short(plot.x(i))} {short(plot.y(value))}" for i, value in enumerate(band.low)]
    return tag("path", class_=f"band {band.kind}", d=f"M{'L'.join(upper)}L{'L'.join(reversed(lower))}Z")


def _available(plot: _Plot) -> Iterator[str]:
    there = plot.available
    if there is None:
        return
    y = plot.y(there)
    where = f" ({bounded(plot.step.available_in or '', 60)})" if plot.step.available_in else ""
    words = cut(f"{size(there)} available{where}", int((plot.right - _LEFT - 20) / _CHAR))
    yield tag("line", class_="limit", x1=_LEFT, x2=plot.right, y1=y, y2=y)
    yield tag("text", words, class_="limit-label", x=_LEFT + 6, y=y - 6 if y > _TOP + 16 else y + 15)


def _peak(plot: _Plot) -> Iterator[str]:
    """A line up to the label above the plane, a dot on the curve, and the bounds as a bracket."""
    step, x = plot.step, plot.x(plot.peak)
    compared = step.compared
    at = f" at {flat(fit_words.place(step, step.at))}" if step.at else ""
    words = cut(
        f"peak {size(compared.bytes) if compared else size(step.peak_bytes)}{at}", int((plot.width - 20) / _CHAR)
    )
    half = cells(words) * _CHAR / 2
    middle = min(max(x, half + 4), plot.width - half - 4)
    yield tag("line", class_="peak", x1=x, x2=x, y1=20, y2=plot.y(max(plot.totals)))
    yield tag("text", words, class_="peak-label", x=middle, y=14, text_anchor="middle")
    if compared is not None:
        low, high = plot.y(compared.low_bytes), plot.y(compared.high_bytes)
        path = f"M{short(x - 5)} {short(high)}h10m-5 0V{short(low)}m-5 0h10"
        yield tag("path", [tag("title", f"between {fit_words.span(compared)}")], class_="bounds", d=path)
    yield tag("circle", class_="peak-dot", cx=x, cy=plot.y(max(plot.totals)), r=3.5)


def _tips(plot: _Plot, most: int) -> Iterator[str]:
    """Invisible columns that tell what is held there; each tells of its highest moment."""
    count = len(plot.totals)
    edges = sorted({count * index // most for index in range(most)} | {count})
    for first, last in pairwise(edges):
        at = max(range(first, last), key=lambda index: plot.totals[index])
        left, right = plot.x(first), plot.x(min(last, count - 1))
        if right > left:
            words = tag("title", _tip(plot, at))
            yield tag("rect", [words], class_="tip", x=left, y=_TOP, width=right - left, height=plot.bottom - _TOP)


def _tip(plot: _Plot, at: int) -> str:
    held = sorted(((each.high[at] - each.low[at], each.name) for each in plot.stack), reverse=True)[:4]
    words = ", ".join(f"{name} {size(count)}" for count, name in held if count)
    return f"{fit_words.place(plot.step, plot.moments[at].at)}: {size(plot.totals[at])} ({words})"
