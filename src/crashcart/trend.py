"""Whether measurements rise with the steps of a program, for good: a robust trend, and what it is not.

Covers: pure arithmetic over steps and values. A leak goes on to the end, evenly, and is never given back. So the series
is cut into blocks, of each the lower quartile is taken (noise, and the upper part of a collector's teeth, do not
count), and of these the level below which memory never came back later: the envelope. A stretch up to the end counts
where the envelope rises in each of its quarters. Warm-up is cut off before it; a plateau, a cache that fills, one jump
of the allocator, and what is built up and given back epoch by epoch fail one of these. Does not cover: what the values
are, or what is to be said of them (`leaks/`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

LEAST_LOOKS = 16
LEAST_STEPS = 16
"""Two looks in each of eight blocks, two blocks in each quarter: fewer cannot tell a rise from a warm-up."""
MOST_BLOCKS = 32
LEAST_TAIL_BLOCKS = 8
LEAST_TAIL_SHARE = 0.25
"""What rose in the last quarter of a run alone may be its last tooth, or the end of a warm-up."""
LEAST_QUARTER, MOST_QUARTER = 0.3, 2.2
"""Of an even share: what each quarter of a rise has to bring, and may bring."""
SLOWED = 0.7
"""A rise whose second half is slower than this, in proportion to its first, is settling: a line seen with noise of an
eighth of its rise stays above it."""
SETTLING = 0.85
"""Where each quarter brings less than this share of the one before it, all the way, the whole is a curve that levels
off."""
OFF_ENVELOPE = 0.15
"""A stretch begins on the envelope, not in the upper part of a tooth: further off it than this share of its rise is off
it."""
FLAT = 0.02
LEAST_LOW = 0.4
"""The lower bound of a slope, as a share of it. What wanders about without a direction has a wide one."""
MOST_TOOTH, LAST_TOOTH = 0.15, 0.125
"""What was given back last, as a share of the rise before, and since when, as a share of the run: a collector's tooth that the
end of the run has cut short. What stays down for longer has ended."""
TOOTH_FACTOR = 3.0
"""Times the noise, from block to block, that was given back: less is the noise on a plateau."""
NOISE_FACTOR, CLEAR_FACTOR = 5.0, 10.0
_Z99 = 2.576
# The median absolute deviation of a normal distribution, in its standard deviations.
_MAD = 1.4826


@dataclass(frozen=True, slots=True)
class Trend:
    """A rise that goes on to the end."""

    since_step: int
    per_step: float
    low: float
    high: float
    """Bounds of `per_step`, at 99 %."""
    grown: float
    """From `since_step` to the end."""
    clear: bool
    """Whether it stands so far out of the noise, over so many looks, that nothing else could look like it."""
    reason: str


@dataclass(frozen=True, slots=True)
class NoTrend:
    """No rise that goes on."""

    below: float
    """A rise by more than this with each step would have been seen."""
    reason: str


@dataclass(frozen=True, slots=True)
class TooShort:
    """Too little was seen to tell."""

    reason: str


def trend(steps: Sequence[int], values: Sequence[int], least: float) -> Trend | NoTrend | TooShort:
    """The trend of a series that was looked at often; growth below `least` is not worth a word."""
    count = _stepping(steps)
    steps, values = steps[:count], values[:count]
    if count < LEAST_LOOKS:
        return TooShort(f"it was looked at {count} times, and {LEAST_LOOKS} are needed")
    span = steps[-1] - steps[0]
    if span < LEAST_STEPS:
        return TooShort(f"it was seen over {span} steps, and {LEAST_STEPS} are needed")
    places, lows = _blocks(steps, values)
    found = _judged(_Seen(places, lows, _never_below(lows)), least)
    cut = _last_tooth(places, lows) if isinstance(found, NoTrend) else None
    if cut is None:
        return found
    again = _judged(_Seen(places[:cut], lows[:cut], _never_below(lows[:cut])), least)
    return replace(again, clear=False) if isinstance(again, Trend) else found


def _last_tooth(places: Sequence[float], lows: Sequence[float]) -> int | None:
    """Where the last tooth begins, if the run ends within one: the blocks before it tell whether memory rises, as they would
    have if the run had ended there. None where little or nothing was given back, or much, or long ago."""
    peak = max(range(len(lows)), key=lambda at: lows[at])
    fell = lows[peak] - min(lows[peak:])
    rose = lows[peak] - lows[0]
    recent = places[-1] - places[peak] <= LAST_TOOTH * (places[-1] - places[0])
    given_back = fell > TOOTH_FACTOR * _noise(places, lows, None)
    if not recent or not given_back or fell > MOST_TOOTH * rose or peak + 1 < LEAST_TAIL_BLOCKS:
        return None
    return peak + 1


def _judged(seen: _Seen, least: float) -> Trend | NoTrend:
    places = seen.places
    if _settles(seen):
        return NoTrend(_below(seen, least), "it levels off: each quarter of the run brought less than the one before")
    failed = "it does not rise"
    for start in range(max(1, len(places) - LEAST_TAIL_BLOCKS + 1)):
        if places[-1] - places[start] < LEAST_TAIL_SHARE * (places[-1] - places[0]):
            break
        fails = _fails(seen, start, least)
        if fails is None:
            return max((_trend(seen, each) for each in (_begun(seen, start), start)), key=_firmness)
        failed = fails if start == 0 or failed == "it does not rise" else failed
    return NoTrend(_below(seen, least), failed)


def _stepping(steps: Sequence[int]) -> int:
    """How many looks were surely taken while the program stepped: not the last one, nor others at the same step. The
    loop may have been left by then, and all that it held with it."""
    count = len(steps) - 1
    while count > 0 and steps[count - 1] == steps[-1]:
        count -= 1
    return max(0, count)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A series in blocks."""

    places: list[float]
    lows: list[float]
    envelope: list[float]

    def at(self, place: float) -> float:
        """The envelope at a place between two blocks."""
        for (left, low), (right, high) in pairwise(zip(self.places, self.envelope, strict=True)):
            if left <= place <= right:
                return low + (high - low) * (place - left) / (right - left)
        return self.envelope[-1 if place > self.places[-1] else 0]

    def quarters(self, start: int) -> list[float]:
        """What the envelope brought in each quarter from a block to the end."""
        first, last = self.places[start], self.places[-1]
        marks = [self.at(first + (last - first) * number / 4) for number in range(5)]
        return [later - earlier for earlier, later in pairwise(marks)]


def _blocks(steps: Sequence[int], values: Sequence[int]) -> tuple[list[float], list[float]]:
    """The places and the lower quartiles of blocks of the same number of steps."""
    count = min(MOST_BLOCKS, len(steps) // 2)
    width = (steps[-1] - steps[0]) / count
    parts: dict[int, list[tuple[int, int]]] = {}
    for step, value in zip(steps, values, strict=True):
        parts.setdefault(min(count - 1, int((step - steps[0]) / width)), []).append((step, value))
    inside = [parts[number] for number in sorted(parts)]
    places = [sum(step for step, _ in part) / len(part) for part in inside]
    return places, [float(sorted(value for _, value in part)[(len(part) - 1) // 4]) for part in inside]


def _never_below(lows: Sequence[float]) -> list[float]:
    """At each place, the lowest that came from there on."""
    found: list[float] = []
    for low in reversed(lows):
        found.append(low if not found else min(low, found[-1]))
    return found[::-1]


def _fails(seen: _Seen, start: int, least: float) -> str | None:
    """Why the stretch from a block to the end is no rise; None where it is one."""
    grown = seen.envelope[-1] - seen.envelope[start]
    if grown < least or seen.lows[start] - seen.envelope[start] > OFF_ENVELOPE * grown:
        return "it does not rise"
    places, lows = seen.places[start:], seen.lows[start:]
    slope, low, _ = _slope(places, lows)
    if low < LEAST_LOW * slope or grown < NOISE_FACTOR * _noise(places, lows, slope):
        return "it rises by no more than it goes up and down anyway"
    quarters = seen.quarters(start)
    if min(quarters) < LEAST_QUARTER * grown / 4 or _has_stopped(places, lows, slope):
        return "it rose for a time, and does no more"
    if max(quarters) > MOST_QUARTER * grown / 4:
        return "it rose in one jump"
    half = len(places) // 2
    if _slope(places[half:], lows[half:])[0] < SLOWED * _slope(places[: half + 1], lows[: half + 1])[0]:
        return "it rises more and more slowly"
    return "what rose was given back before" if _was_given_back(seen, start, grown) else None


def _has_stopped(places: Sequence[float], lows: Sequence[float], slope: float) -> bool:
    """Whether the last eighth is flat, as far as noise lets one see an eighth."""
    count = max(4, len(places) // 8)
    expected = slope * (places[-1] - places[-count])
    if expected < 3 * _noise(places, lows, slope):
        return False
    return _slope(places[-count:], lows[-count:])[0] < LEAST_QUARTER * slope


def _begun(seen: _Seen, start: int) -> int:
    """The last block at which the rise had not begun yet."""
    low = seen.envelope[start] + FLAT * (seen.envelope[-1] - seen.envelope[start])
    while start < len(seen.places) - LEAST_TAIL_BLOCKS and seen.envelope[start + 1] <= low:
        start += 1
    return start


def _was_given_back(seen: _Seen, start: int, grown: float) -> bool:
    """Whether as much was built up before, over as many steps, and given back: epochs that hold their own results."""
    peak = trough = 0
    for place in range(1, start + 1):
        if seen.lows[place] > seen.lows[peak]:
            peak = place
        elif seen.lows[peak] - seen.lows[place] >= 0.4 * grown:
            rose = seen.places[peak] - seen.places[trough]
            if seen.places[-1] - seen.places[start] < 2 * rose:
                return True
            peak = trough = place
        elif seen.lows[place] < seen.lows[trough]:
            trough = peak = place
    return False


def _settles(seen: _Seen) -> bool:
    """Whether the whole is one curve that levels off."""
    quarters = seen.quarters(0)
    if min(quarters) <= 0 or sum(quarters) < NOISE_FACTOR * _noise(seen.places, seen.lows, None):
        return False
    return all(later < SETTLING * earlier for earlier, later in pairwise(quarters))


def _trend(seen: _Seen, start: int) -> Trend:
    places, lows = seen.places[start:], seen.lows[start:]
    slope, low, high = _slope(places, lows)
    grown = seen.envelope[-1] - seen.envelope[start]
    noise = _noise(places, lows, slope)
    clear = len(places) >= 2 * LEAST_TAIL_BLOCKS and grown >= CLEAR_FACTOR * noise and low >= 0.5 * slope
    return Trend(
        round(places[0]),
        slope,
        low,
        high,
        grown,
        clear,
        "it rises in every quarter of the stretch, and was never given back",
    )


def _firmness(found: Trend) -> bool:
    """Whether its lower bound is near: a later start leaves fewer blocks, and may leave too few."""
    return found.low >= LEAST_LOW * found.per_step


def _slope(places: Sequence[float], lows: Sequence[float]) -> tuple[float, float, float]:
    """Theil and Sen's slope, with its bounds at 99 % by Kendall's variance."""
    slopes = sorted(
        (lows[right] - lows[left]) / (places[right] - places[left])
        for left in range(len(places))
        for right in range(left + 1, len(places))
        if places[right] > places[left]
    )
    if not slopes:
        return 0.0, 0.0, 0.0
    count = len(places)
    wide = _Z99 * math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    below = max(0, int((len(slopes) - wide) / 2))
    above = min(len(slopes) - 1, int((len(slopes) + wide) / 2))
    return median(slopes), slopes[below], slopes[above]


def _noise(places: Sequence[float], lows: Sequence[float], slope: float | None) -> float:
    """How far the blocks lie from their line; where it is no line, by how much one differs from the middle of its
    neighbours."""
    if slope is None:
        bends = [abs(lows[at] - (lows[at - 1] + lows[at + 1]) / 2) for at in range(1, len(lows) - 1)]
        return _MAD * median(bends) if bends else 0.0
    rests = [low - slope * place for place, low in zip(places, lows, strict=True)]
    middle = median(rests)
    return _MAD * median([abs(each - middle) for each in rests])


def _below(seen: _Seen, least: float) -> float:
    """The slowest rise that would have been found: as much as is worth a word, or stands out of the noise, over half
    the run."""
    half = len(seen.places) // 2
    places, lows = seen.places[half:], seen.lows[half:]
    slope, _, high = _slope(places, lows)
    noise = NOISE_FACTOR * _noise(places, lows, slope)
    return max(high, max(least, noise) / max(1.0, seen.places[-1] - seen.places[half]))


@dataclass(frozen=True, slots=True)
class Climb:
    """A count that was looked at a few times, and went up all the time."""

    since_step: int
    first: int
    last: int
    steps: int
    """From the look that it went up after to the last one."""

    @property
    def grown(self) -> int:
        """How much came."""
        return self.last - self.first

    @property
    def per_step(self) -> float:
        """How much came with each step."""
        return self.grown / max(1, self.steps)


LEAST_CLIMB_LOOKS = 4
GONE = 0.25
"""A count that fell below this share of itself at the last look alone was left behind; one that fell by less goes up and down."""
LEAST_RISES = 3
MOST_FALLS = 0.15
"""Of a rise: by how much a container may have lost on its way. What is only ever put in does not become less."""
ANY_FALLS = 1e9
"""For what a collector frees now and then: its lower level counts."""


def climb(
    steps: Sequence[int], values: Sequence[int | None], least: float = 1, most_falls: float = MOST_FALLS
) -> Climb | None:
    """The rise of what was looked at seldom: to the end, in several parts, and not much slower in its second half."""
    seen = [(step, value) for step, value in zip(steps, values, strict=True) if value is not None]
    if len(seen) > 1 and seen[-1][1] < GONE * seen[-2][1]:
        seen.pop()  # the loop may have been left by then, and all that it held with it
    if len(seen) < LEAST_CLIMB_LOOKS:
        return None
    places, lows = [float(step) for step, _ in seen], _never_below([float(value) for _, value in seen])
    start = max(0, next((at for at in range(1, len(lows)) if lows[at] > lows[at - 1]), len(lows)) - 1)
    rises = sum(later > earlier for earlier, later in pairwise(lows))
    grown, span = lows[-1] - lows[start], places[-1] - places[start]
    falls = sum(max(0, earlier - later) for (_, earlier), (_, later) in pairwise(seen))
    if (
        falls > most_falls * grown
        or rises < LEAST_RISES
        or grown < least
        or span <= 0
        or span < LEAST_TAIL_SHARE * (places[-1] - places[0])
    ):
        return None
    curve = _Seen(places, lows, lows)
    middle = curve.at(places[start] + span / 2)
    late = curve.at(places[start] + span * 0.75)
    if lows[-1] - middle < LEAST_QUARTER * grown or lows[-1] <= late:
        return None
    return Climb(int(places[start]), int(lows[start]), int(lows[-1]), int(span))
