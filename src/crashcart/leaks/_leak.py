"""Whether the process really grows, by how much with each step, and when that kills it.

Covers: the trend of its memory, growth that a named container shows where the trend alone does not, what is left of it beside
what ends by itself, the way to the limit. Does not cover: what ends by itself (`_excused.py`), who holds it (`_holders.py`) or
what is said (the rules). No rule is declared here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from crashcart.finding import Confidence
from crashcart.growth import Growth, Series
from crashcart.leaks._excused import Rise, excused, filling, holder_beside
from crashcart.leaks._holders import Holding, holdings, is_nested, main_holding
from crashcart.leaks._made import GRAPH, LEAST_OPERATIONS, MADE, made_anew, rising, traced_again
from crashcart.trend import NoTrend, TooShort, Trend, trend
from crashcart.units import MIB

LEAST_BYTES, LEAST_FRACTION = 6 * MIB, 0.01
"""The fraction is of what the process holds. Training programs that leak nothing were seen to go up and down by half of
it."""
LEAST_BARE_BYTES, LEAST_BARE_FRACTION = 16 * MIB, 0.025
"""The same for growth that nothing explains: TensorFlow's allocators were seen to take 4 MiB, 1 MiB at a time, over the
second half of a run of 1200 batches in which nothing stayed."""
UNSURE_FACTOR, SURE_SHARE = 4, 0.75
"""By how much more a rise that nothing explains has to bring where the lower bound of its rate is below this share of it.
Batches of very different sizes took 17 MiB over 250 steps, as ever larger ones came by."""
LEAST_BYTES_PER_HOUR = 8 * MIB
"""A list that gets a float with each step of 10 ms grows by 11 MiB in an hour; slower growth than that kills nobody."""
LONGEST_AFTER, LEAST_AFTER_S = 0.2, 1.0
"""Of the run, and at least so many seconds: what went on for longer after its last step has left its steps behind. The seconds
are not asked where memory rose in that time: 200 arrays were stacked, and gone through, in half a second."""
TOUCHED_SHARE = 0.6
"""Of what a process asked for with its steps: where it holds as much more, and half of that since the middle, it is not only
reserved."""
SHOWN_SHARE = 0.5
"""Of what a container was seen to take, the process must have grown by this share: else its elements are shared, or
views."""


@dataclass(frozen=True, slots=True)
class Leak:
    """Growth of the process that is real."""

    since_step: int
    per_step: int
    low: int
    high: int
    grown_bytes: int
    level_bytes: int
    """What the process held last."""
    confidence: Confidence
    beside_per_step: int = 0
    """What it took besides with each step, and ends by itself: buffers up to their bounds, memory that was asked for before."""
    beside_bytes: int = 0
    """The same over all steps of the growth."""

    @property
    def rise(self) -> Rise:
        """The growth alone."""
        return Rise(self.since_step, self.per_step, self.grown_bytes)

    def less(self, per_step: float) -> Leak:
        """What is left without so much of each step."""
        share = min(1.0, per_step / max(1, self.per_step))
        beside, bytes_beside = round(per_step), round(share * self.grown_bytes)
        return replace(
            self,
            per_step=self.per_step - beside,
            low=max(0, self.low - beside),
            high=max(0, self.high - beside),
            grown_bytes=self.grown_bytes - bytes_beside,
            beside_per_step=beside,
            beside_bytes=bytes_beside,
        )

    def steps_left(self, limit_bytes: int | None) -> int | None:
        """How many steps are left until the limit; None where nobody knows one."""
        if limit_bytes is None or self.per_step <= 0:
            return None
        return max(0, limit_bytes - self.level_bytes) // self.per_step


def memory_of(growth: Growth) -> Series | None:
    """The series that says what the process holds: its own pages, else its resident size."""
    return growth.named("private") or growth.named("rss")


def least_bytes(series: Series) -> float:
    """Growth that is worth a word."""
    return max(LEAST_BYTES, LEAST_FRACTION * max(series.values, default=0))


def least_bare_bytes(level_bytes: int) -> float:
    """Growth that is worth a word where nothing explains it."""
    return max(LEAST_BARE_BYTES, LEAST_BARE_FRACTION * level_bytes)


def memory_trend(growth: Growth) -> Trend | NoTrend | TooShort:
    """What the process's memory did."""
    series = memory_of(growth)
    if series is None:
        return TooShort(growth.lacking.get("series", "its memory was not measured"))
    return _trend(series)


@lru_cache(maxsize=8)  # every rule asks for it
def _trend(series: Series) -> Trend | NoTrend | TooShort:
    return trend(series.steps, series.values, least_bytes(series))


def rise_of(found: Trend) -> Rise:
    """A trend of the process's memory as a rise."""
    return Rise(found.since_step, found.per_step, round(found.grown))


def leak_of(growth: Growth) -> Leak | None:
    """The growth of the process, where it is real, goes on and matters, without what of it ends by itself, and not that of a loop
    which had ended long before the program did."""
    found = grown_of(growth)
    if found is None or (has_ended(growth) and growth.steps is not None and growth.steps.kind == "loop"):
        return None
    return replace(found, confidence=Confidence.LIKELY) if has_ended(growth) else found


def has_ended(growth: Growth) -> bool:
    """Whether the program went on for long after its last step, or a loop was followed by other steps. Memory that rose after
    the last step shows that something else ran, however short it was: what that leaves behind is not of these steps."""
    after = growth.after
    if growth.later is not None and growth.steps is not None and growth.steps.kind == "loop":
        return True
    if after is None or growth.ended_s is None or after.seconds <= LONGEST_AFTER * growth.ended_s:
        return False
    return after.seconds > LEAST_AFTER_S or rose_after(growth)


def rose_after(growth: Growth) -> bool:
    """Whether memory went up after the last step, by more than allocators do."""
    series, after = memory_of(growth), growth.after
    if series is None or after is None or after.grown_bytes is None:
        return False
    return after.grown_bytes >= least_bare_bytes(series.values[-1])


def grown_of(growth: Growth) -> Leak | None:
    """The growth over the steps less what of it ends by itself, whether or not the steps ended long before the program did."""
    whole, series = whole_of(growth), memory_of(growth)
    if whole is None or series is None:
        return None
    ends = excused(growth, whole.rise)
    left = whole.less(ends.per_step)
    if left.per_step <= 0 or is_slow(growth, left.per_step):
        return None
    if ends.is_most(whole.rise):
        held = holder_beside(growth, left.per_step, least_bytes(series)) is not None
        return replace(left, confidence=Confidence.LIKELY) if held else None
    if unseen_buffer(growth, left.per_step) is not None:
        return None
    return left if _matters(growth, left) else None


def unseen_buffer(growth: Growth, per_step: float) -> Holding | None:
    """A container with a bound that fills, and whose elements were not seen to the bottom, where nothing is known to hold what is
    left of the growth: it may be theirs."""
    if is_explained(growth, per_step):
        return None
    return next((each for each in filling(growth) if each.counts is not None and is_nested(each.kept)), None)


def whole_of(growth: Growth) -> Leak | None:
    """The growth over the steps with what of it ends by itself."""
    series, found = memory_of(growth), memory_trend(growth)
    if series is None or isinstance(found, TooShort):
        return None
    leak = _by_trend(series, found) if isinstance(found, Trend) else _by_other_signs(growth, series)
    return leak if leak is not None and not is_slow(growth, leak.per_step) and _matters(growth, leak) else None


def _matters(growth: Growth, leak: Leak) -> bool:
    """Whether it is enough to speak of: where nothing explains it, more than allocators were seen to keep."""
    bare = least_bare_bytes(leak.level_bytes)
    least = bare if leak.low >= SURE_SHARE * leak.per_step else UNSURE_FACTOR * bare
    return leak.grown_bytes >= least or is_explained(growth, leak.per_step)


def is_explained(growth: Growth, per_step: float) -> bool:
    """Whether more is known of growth than that it is there: a container that holds it, or things that are made
    anew."""
    return bool(
        main_holding(growth, per_step)
        or traced_again(growth)
        or made_anew(growth, MADE)
        or rising(growth, "operations", LEAST_OPERATIONS)
        or rising(growth, "sessions")
    )


def _by_trend(series: Series, found: Trend) -> Leak:
    sure = Confidence.CERTAIN if found.clear else Confidence.LIKELY
    return Leak(
        found.since_step,
        round(found.per_step),
        round(found.low),
        round(found.high),
        round(found.grown),
        series.values[-1],
        sure,
    )


def _by_other_signs(growth: Growth, series: Series) -> Leak | None:
    """Growth that its own series is too uneven to show."""
    return _by_holder(growth, series) or _by_graphs(growth, series) or _by_asked(growth, series)


def _by_holder(growth: Growth, series: Series) -> Leak | None:
    """A container without a bound that grows to the end, where the process grew with it, and with those that have one: in
    jumps, say, which are no even trend."""
    filled = filling(growth)
    beside = sum(each.per_step for each in filled)
    for holding in holdings(growth):
        taken = holding.bytes
        if taken is None or taken.grown < least_bytes(series) or holding in filled:
            continue
        each, grown = round(taken.per_step + beside), taken.grown + round(beside * taken.steps)
        middle = taken.since_step + taken.steps / 2
        start, half = _level(series, taken.since_step), _level(series, middle)
        last = min(series.values[-3:])
        if last - start >= SHOWN_SHARE * grown and last - half >= SHOWN_SHARE / 2 * grown:
            low = round(each * SHOWN_SHARE)
            return Leak(taken.since_step, each, low, each, grown, series.values[-1], Confidence.LIKELY)
    return None


def _by_graphs(growth: Growth, series: Series) -> Leak | None:
    """Function graphs that stay, where the process takes more in both halves of its steps: models of different sizes, whose
    memory is given back in part, are no even trend."""
    if not made_anew(growth, (GRAPH,)):
        return None
    first, last = series.steps[0], series.steps[-1]
    start, half, end = series.values[0], _level(series, (first + last) / 2), min(series.values[-3:])
    if not start < half < end:
        return None
    rates = [2 * (half - start) / (last - first), 2 * (end - half) / (last - first)]
    each = round(sum(rates) / 2)
    return Leak(first, each, round(min(rates)), round(max(rates)), end - start, series.values[-1], Confidence.LIKELY)


def _by_asked(growth: Growth, series: Series) -> Leak | None:
    """Where the process asks for more with each step, evenly and to the end, and what it holds went up by about as much. What it
    holds bends more easily: pages come late, and a collector's teeth and trimmed heaps take some away."""
    asked = growth.named("data")
    found = trend(asked.steps, asked.values, least_bytes(series)) if asked is not None else None
    if not isinstance(found, Trend):
        return None
    start, half = _level(series, found.since_step), _level(series, (found.since_step + series.steps[-1]) / 2)
    grown = min(series.values[-3:]) - start
    late = min(series.values[-3:]) - half
    if grown < TOUCHED_SHARE * found.grown or late < TOUCHED_SHARE / 2 * found.grown:
        return None
    return replace(_by_trend(series, found), grown_bytes=grown, confidence=Confidence.LIKELY)


def _level(series: Series, step: float) -> int:
    """What the process held before a step, at the lowest of its last few looks."""
    before = [value for at, value in zip(series.steps, series.values, strict=True) if at <= step]
    return min(before[-8:], default=series.values[0])


def is_slow(growth: Growth, per_step: float) -> bool:
    """Whether it would not matter within days."""
    each_s = growth.steps.seconds_each if growth.steps is not None else None
    return each_s is not None and each_s > 0 and per_step / each_s * 3600 < LEAST_BYTES_PER_HOUR
