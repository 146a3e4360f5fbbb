"""What a process takes with each step and is no leak: it ends by itself.

Covers: containers that fill up to a bound of their own, memory that was asked for before and is filled, caches of tf.data in
their first epoch; how much of a rise they take. Does not cover: whether the rest is a leak (`_leak.py`). No rule is declared
here.
"""

from __future__ import annotations

from dataclasses import dataclass

from crashcart.growth import Filling, Growth, Series
from crashcart.leaks._holders import Holding, bound_of, holdings, leads_to, main_holding

LEAST_ASKED, MOST_ASKED = 4, 0.25
"""Of growth: where the process asked for no more than this share of it in the same time, it fills what it had asked for
before."""
EXCUSED_SHARE = 0.6
"""Where this share of the growth ends by itself, the rest alone is no sign of a leak: it may be what comes along."""
ALONG_SHARE = 0.25
"""Of what ends by itself: up to so much may come along with it unmeasured, objects and slack of the allocator. A queue of batches
brought 8 %."""
EARLY_STEPS = 16
"""A cache is looked for some times a second: one that was met within so many steps was there from the first."""


@dataclass(frozen=True, slots=True)
class Rise:
    """By how much a process grew."""

    since_step: int
    per_step: float
    grown_bytes: int


@dataclass(frozen=True, slots=True)
class Excused:
    """Bytes a step of a rise that end by themselves."""

    bounded: float = 0.0
    """Into containers with a bound."""
    touched: float = 0.0
    """Into memory that was asked for before."""
    cached: float = 0.0
    """Into caches of tf.data."""

    @property
    def per_step(self) -> float:
        """All of them."""
        return self.bounded + self.touched + self.cached

    def is_most(self, rise: Rise) -> bool:
        """Whether they take so much of it that the rest alone says nothing."""
        return self.per_step >= EXCUSED_SHARE * rise.per_step

    @property
    def along(self) -> float:
        """What may come along with them, unmeasured."""
        return ALONG_SHARE * self.per_step


def excused(growth: Growth, rise: Rise) -> Excused:
    """What of a rise ends by itself."""
    return Excused(
        sum(each.per_step for each in filling(growth)),
        _touched(growth, rise),
        sum(each.bytes_each for each in caches_filled(growth, rise)),
    )


def filling(growth: Growth) -> list[Holding]:
    """The containers that grow, and have a bound of their own."""
    return [each for each in holdings(growth) if bound_of(each.kept) is not None]


def is_first_touch(growth: Growth, rise: Rise) -> bool:
    """Whether the process fills memory that it had asked for before: its pages come, and what it asked for stays."""
    asked = asked_bytes(growth, rise)
    return asked is not None and asked <= MOST_ASKED * rise.grown_bytes


def asked_bytes(growth: Growth, rise: Rise) -> int | None:
    """How much more the process asked for while it grew; None where too little was seen. Memory that is shared is not in what
    it asked for, and counts as new."""
    asked = _since(growth.named("data"), rise.since_step)
    if len(asked) < LEAST_ASKED:
        return None
    shared = _since(growth.named("shmem"), rise.since_step) or [0]
    return max(0, asked[-1] - asked[0] + shared[-1] - shared[0])


def _touched(growth: Growth, rise: Rise) -> float:
    asked = asked_bytes(growth, rise)
    if asked is None or not is_first_touch(growth, rise) or rise.grown_bytes <= 0:
        return 0.0
    return rise.per_step * (1 - asked / rise.grown_bytes)


def _since(series: Series | None, step: int) -> list[int]:
    if series is None:
        return []
    return [value for at, value in zip(series.steps, series.values, strict=True) if at >= step]


def caches_filled(growth: Growth, rise: Rise) -> list[Filling]:
    """The caches of tf.data that take most of the growth: each was being filled from before it began to the last step, so it is
    still in its first epoch."""
    found = [each for each in growth.filling if each.since_step <= max(rise.since_step, EARLY_STEPS)]
    return found if sum(each.bytes_each for each in found) >= EXCUSED_SHARE * rise.per_step else []


def holder_beside(growth: Growth, per_step: float, least_bytes: float) -> Holding | None:
    """The container without a bound that holds what is left of a rise, where it came to hold enough to speak of."""
    found = main_holding(growth, per_step)
    if found is None or found.bytes is None or found.bytes.grown < least_bytes or leads_to_bounded(growth, found):
        return None
    return found


def leads_to_bounded(growth: Growth, holding: Holding) -> bool:
    """Whether it is an object on the way to a container with a bound: what that holds is counted as its own."""
    return any(leads_to(holding, each) for each in filling(growth))
