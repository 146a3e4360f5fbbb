"""What a memory chart shows, in data: lines, the limit, marked moments, round ticks.

Covers: choosing and thinning samples, the limit that held, events, stack dumps and the end on the time axis.
Does not cover: drawing (`chart.py`). Samples whose time or figure is unknown are left out, and the line runs on to the
next known one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from crashcart.evidence import Evidence, Sample
from crashcart.report.words import UNKNOWN, duration_words, ending_label, number, size_words
from crashcart.units import GIB, MIB

Point = tuple[float, float]
Item = TypeVar("Item")

MOST_POINTS = 600
_MOST_BEATS = 40
_MOST_EVENTS = 60
_SAME_FRACTION = 0.02
"""Two lines that nowhere differ by more than this share of the peak look like one."""
_FAR_LIMIT = 4.0
"""A limit beyond this multiple of the peak is told, not drawn: it would press the curve flat."""
_TIME_STEPS_S = (
    0.1,
    0.2,
    0.5,
    1,
    2,
    5,
    10,
    20,
    30,
    60,
    120,
    300,
    600,
    1200,
    1800,
    3600,
    7200,
    14400,
    21600,
    43200,
    86400,
)


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of the chart."""

    key: str
    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """Something marked on the time axis."""

    at_s: float
    label: str
    kind: str
    """event, beat, words (a stack taken for a reason) or end"""


@dataclass(frozen=True, slots=True)
class Bound:
    """The memory limit that held, and where it is written."""

    bytes: float
    source: str


@dataclass(frozen=True, slots=True)
class Memory:
    """Everything that a memory chart shows."""

    curves: tuple[Curve, ...]
    bound: Bound | None
    moments: tuple[Moment, ...]
    start_s: float
    end_s: float

    @property
    def peak(self) -> Point:
        """When the highest figure of all lines was sampled, and the figure."""
        return max((point for curve in self.curves for point in curve.points), key=lambda point: point[1])

    @property
    def drawn_bound(self) -> Bound | None:
        """The limit, where it is near enough to be drawn."""
        return self.bound if self.bound and self.bound.bytes <= _FAR_LIMIT * self.peak[1] else None

    @property
    def end(self) -> Moment | None:
        """How the program ended, where that is known."""
        return next((each for each in self.moments if each.kind == "end"), None)

    def told(self) -> str:
        """The chart in words."""
        first, peak = self.curves[0].points[0], self.peak
        limit = f" The limit is {size_words(self.bound.bytes)} ({self.bound.source})." if self.bound else ""
        end = f" The end: {self.end.label} at {duration_words(self.end.at_s)}." if self.end else ""
        return (
            f"Memory was {size_words(first[1])} at {duration_words(first[0])} and {size_words(peak[1])} at its peak, "
            f"at {duration_words(peak[0])}.{limit}{end}"
        )


def memory_of(evidence: Evidence) -> Memory | None:
    """What the chart of this evidence shows, or None where no sample has a figure."""
    curves = _curves(evidence.samples or ())
    if not curves:
        return None
    last_s = max(curve.points[-1][0] for curve in curves)
    first_s = min(curve.points[0][0] for curve in curves)
    ended_s = number(evidence.ending.at_s) if evidence.ending else None
    end_s = max(last_s, ended_s if ended_s is not None else last_s)
    start_s = min(0.0, first_s) if first_s <= 0.1 * end_s else first_s
    moments = (each for each in _moments(evidence, end_s) if start_s <= each.at_s <= end_s)
    return Memory(curves, _bound(evidence), tuple(moments), start_s, max(end_s, start_s + 0.1))


def _curves(samples: Sequence[Sample]) -> tuple[Curve, ...]:
    resident = _points(samples, "rss_bytes")
    curves = [Curve("resident", "resident", resident)] if resident else []
    for key, name, field in (
        ("tree", "with its child processes", "tree_rss_bytes"),
        ("used", "counted against the limit", "used_bytes"),
    ):
        points = _points(samples, field)
        if points and not any(_alike(points, curve.points) for curve in curves):
            curves.append(Curve(key, name, points))
    return tuple(Curve(each.key, each.name, tuple(thinned(each.points))) for each in curves)


def _points(samples: Sequence[Sample], field: str) -> tuple[Point, ...]:
    pairs = ((number(sample.at_s), number(getattr(sample, field))) for sample in samples)
    return tuple(sorted((at_s, value) for at_s, value in pairs if at_s is not None and value is not None))


def _alike(points: Sequence[Point], others: Sequence[Point]) -> bool:
    known = dict(others)
    peak = max(value for _, value in (*points, *others))
    return all(at_s in known and abs(known[at_s] - value) <= _SAME_FRACTION * peak for at_s, value in points)


def thinned(points: Sequence[Point], most: int = MOST_POINTS) -> list[Point]:
    """At most `most` of the points: the first, the last, and the lowest and highest of each stretch between."""
    if len(points) <= most:
        return list(points)
    inner = points[1:-1]
    stretches = (most - 2) // 2
    kept = [points[0]]
    for index in range(stretches):
        stretch = inner[len(inner) * index // stretches : len(inner) * (index + 1) // stretches]
        kept.extend(sorted({min(stretch, key=lambda point: point[1]), max(stretch, key=lambda point: point[1])}))
    return [*kept, points[-1]]


def _bound(evidence: Evidence) -> Bound | None:
    """The limit as it was sampled last, by the source that names the same figure; else the machine's tightest."""
    sampled = [value for sample in evidence.samples or () if (value := number(sample.limit_bytes)) is not None]
    limits = [each for each in (evidence.machine.limits if evidence.machine else ()) if number(each.bytes) is not None]
    if sampled:
        source = next((each.source for each in limits if each.bytes == sampled[-1]), "as sampled")
        return Bound(sampled[-1], source)
    tightest = min(limits, key=lambda each: each.bytes, default=None)
    return Bound(float(tightest.bytes), tightest.source) if tightest else None


def _moments(evidence: Evidence, end_s: float) -> list[Moment]:
    events = [
        Moment(at_s, each.text, "event") for each in evidence.events or () if (at_s := number(each.at_s)) is not None
    ]
    dumps = [
        Moment(
            at_s,
            f"stacks taken at {duration_words(at_s)} ({each.reason})",
            "beat" if each.reason == "beat" else "words",
        )
        for each in evidence.stacks or ()
        if (at_s := number(each.at_s)) is not None
    ]
    beats = _spread([each for each in dumps if each.kind == "beat"], _MOST_BEATS)
    words = _spread([each for each in dumps if each.kind == "words"], _MOST_BEATS)
    moments = [*_spread(events, _MOST_EVENTS), *beats, *words]
    if evidence.ending and evidence.ending.kind not in ("running", "unobserved"):
        at_s = number(evidence.ending.at_s)
        moments.append(Moment(end_s if at_s is None else at_s, ending_label(evidence.ending), "end"))
    return moments


def _spread(items: Sequence[Item], most: int) -> Iterable[Item]:
    """At most `most` of the items, evenly, the last one always among them."""
    if len(items) <= most:
        return items
    return [items[(len(items) - 1) * index // (most - 1)] for index in range(most)]


def size_ticks(top_bytes: float, most: int = 6) -> list[tuple[float, str]]:
    """Round figures from 0 to the top, with their words: GiB, or MiB below one GiB."""
    unit, name = (float(GIB), "GiB") if top_bytes >= GIB else (float(MIB), "MiB")
    step = round_step(max(top_bytes / unit, 1e-9) / most)
    count = int(top_bytes / unit / step + 1e-9)
    return [(index * step * unit, f"{index * step:.10g} {name}" if index else "0") for index in range(count + 1)]


def round_step(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))


def time_ticks(start_s: float, end_s: float, most: int = 8) -> list[tuple[float, str]]:
    """Round moments between start and end, with their words."""
    least = (end_s - start_s) / most
    step = next((each for each in _TIME_STEPS_S if each >= least), None) or round_step(least / 86400) * 86400
    first = math.ceil(start_s / step - 1e-9)
    last = math.floor(end_s / step + 1e-9)
    return [(index * step, _clock(index * step)) for index in range(first, min(last, first + 2 * most) + 1)]


def _clock(at_s: float) -> str:
    if at_s < 120:
        return f"{at_s:.10g} s"
    return UNKNOWN if number(at_s) is None else duration_words(at_s)
