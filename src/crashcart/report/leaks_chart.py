"""Growth over the steps as inline SVG: memory with its trend and the limit, and a small picture for each count that rises.

Covers: curves, axes, the stretch that was taken as a leak, a title and a description. Colours come from the page's style sheet
by class. Does not cover: the legend (the page), or which growth is real (`leaks/`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from crashcart.growth import Growth, Series
from crashcart.report.chart import short, tag
from crashcart.report.leaks_words import NAMES
from crashcart.report.series import round_step, size_ticks, thinned
from crashcart.report.words import number
from crashcart.report.wrap import cut
from crashcart.units import size

_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 14, 26, 40
_HEADROOM = 1.1
_FAR = 3.0
"""A limit beyond this multiple of the peak is told, not drawn: it would press the curve flat."""
_CHAR = 6.4
_MOST_COUNTS = 6
_CURVES = {"private": "resident", "rss": "tree", "python": "used"}


@dataclass(frozen=True, slots=True)
class _Plot:
    """The plane: where a step and a figure lie on it."""

    first: int
    last: int
    top: float
    width: int
    height: int

    @property
    def bottom(self) -> float:
        return float(self.height - _BOTTOM)

    @property
    def right(self) -> float:
        return float(self.width - _RIGHT)

    def x(self, step: float) -> float:
        return _LEFT + (step - self.first) / max(1, self.last - self.first) * (self.right - _LEFT)

    def y(self, value: float) -> float:
        return self.bottom - max(0.0, value / self.top) * (self.bottom - _TOP)


def memory_series(growth: Growth) -> list[Series]:
    """The curves of memory, the one that is judged first."""
    found = [growth.named(name) for name in _CURVES]
    return [each for each in found if each is not None and len(each.steps) > 1]


def rising_counts(growth: Growth, figures: dict[str, Any]) -> list[Series]:
    """The counts that go up to the end, as the figures say."""
    up = {each["name"] for each in figures.get("series", ()) if isinstance(each, dict) and each.get("rises")}
    return [each for each in growth.series if each.unit == "count" and each.name in up and each.name != "blocks"][
        :_MOST_COUNTS
    ]


def draw_growth(growth: Growth, figures: dict[str, Any], width: int, height: int, name: str) -> str:
    """Memory over the steps; empty where there is none to draw."""
    curves = memory_series(growth)
    if not curves:
        return ""
    peak = max(max(each.values) for each in curves)
    limit = growth.limit_bytes if growth.limit_bytes is not None and growth.limit_bytes <= _FAR * peak else None
    plot = _plot(curves, _HEADROOM * max(peak, limit or 0), width, height)
    parts = [
        tag("title", "Memory over the steps", id=f"{name}-title"),
        tag("desc", _told(curves[0], figures), id=f"{name}-desc"),
        *_grid(plot, size_ticks(plot.top)),
        *_steps_axis(plot),
        *_limit(plot, limit),
        *(tag("path", class_=f"curve {_CURVES[each.name]}", d=_path(plot, each)) for each in reversed(curves)),
        *_trend(plot, curves[0], figures),
    ]
    return _svg(parts, width, height, name)


def draw_count(series: Series, width: int, height: int, name: str) -> str:
    """One count over the steps."""
    plot = _plot([series], _HEADROOM * max(1, *series.values), width, height)
    words = f"{NAMES.get(series.name, series.name)}: {series.values[0]:,} → {series.values[-1]:,}"
    step = round_step(plot.top / 4)
    ticks = [(index * step, f"{index * step:,.10g}") for index in range(int(plot.top / step + 1e-9) + 1)]
    parts = [
        tag("title", words, id=f"{name}-title"),
        tag("text", words, class_="event-label", x=_LEFT, y=14),
        *_grid(plot, ticks),
        *_steps_axis(plot),
        tag("path", class_="curve resident", d=_path(plot, series)),
    ]
    return tag(
        "svg", parts, class_="chart", viewBox=f"0 0 {width} {height}", role="img", aria_labelledby=f"{name}-title"
    )


def _plot(curves: Sequence[Series], top: float, width: int, height: int) -> _Plot:
    first, last = min(each.steps[0] for each in curves), max(each.steps[-1] for each in curves)
    return _Plot(first, last, max(1.0, top), width, height)


def _svg(parts: list[str], width: int, height: int, name: str) -> str:
    attributes = {"class_": "chart", "viewBox": f"0 0 {width} {height}", "role": "img"}
    return tag("svg", parts, **attributes, aria_labelledby=f"{name}-title {name}-desc")


def _told(series: Series, figures: dict[str, Any]) -> str:
    each = number(figures.get("bytes_per_step"))
    rate = (
        f" It grows by {size(round(each))} a step since step {figures.get('since_step')}." if each is not None else ""
    )
    first, last = size(series.values[0]), size(series.values[-1])
    return f"Memory went from {first} at step {series.steps[0]} to {last} at step {series.steps[-1]}.{rate}"


def _grid(plot: _Plot, ticks: Sequence[tuple[float, str]]) -> Iterator[str]:
    for value, words in ticks:
        y = plot.y(value)
        yield tag("line", class_="grid" if value else "axis", x1=_LEFT, x2=plot.right, y1=y, y2=y)
        yield tag("text", words, class_="tick", x=_LEFT - 8, y=y + 4, text_anchor="end")


def _steps_axis(plot: _Plot) -> Iterator[str]:
    step = max(1, int(round_step(max(1.0, (plot.last - plot.first) / max(3, plot.width // 130)))))
    for mark in range(-(-plot.first // step) * step, plot.last + 1, step):
        x = plot.x(mark)
        yield tag("line", class_="axis", x1=x, x2=x, y1=plot.bottom, y2=plot.bottom + 5)
        anchor = "end" if x > plot.right - 20 else "middle"
        yield tag("text", f"{mark:,}", class_="tick", x=x, y=plot.bottom + 19, text_anchor=anchor)
    yield tag("text", "steps", class_="tick", x=(_LEFT + plot.right) / 2, y=plot.height - 4, text_anchor="middle")


def _limit(plot: _Plot, limit: int | None) -> Iterator[str]:
    if limit is not None:
        y = plot.y(limit)
        yield tag("line", class_="limit", x1=_LEFT, x2=plot.right, y1=y, y2=y)
        yield tag("text", f"limit {size(limit)}", class_="limit-label", x=_LEFT + 6, y=y - 6)


def _path(plot: _Plot, series: Series) -> str:
    points = thinned([(float(step), float(value)) for step, value in zip(series.steps, series.values, strict=True)])
    return "M" + "L".join(f"{short(plot.x(step))} {short(plot.y(value))}" for step, value in points)


def _trend(plot: _Plot, series: Series, figures: dict[str, Any]) -> Iterator[str]:
    """The line of the leak, from where it begins to the end."""
    each, since = number(figures.get("bytes_per_step")), number(figures.get("since_step"))
    if each is None or since is None:
        return
    end = float(series.values[-1])
    start = end - each * (series.steps[-1] - since)
    x, y = plot.x(since), plot.y(start)
    yield tag("line", class_="slope", x1=x, y1=y, x2=plot.x(series.steps[-1]), y2=plot.y(end))
    words = cut(f"+{size(round(each))} a step since step {since:.0f}", int((plot.right - _LEFT) / _CHAR))
    yield tag("text", words, class_="limit-label", x=min(x + 6, plot.right - len(words) * _CHAR), y=_TOP - 10)
