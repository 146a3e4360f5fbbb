"""How often to look, and when to ask for last words: pure decisions from figures.

Covers: the sampling interval by distance from the limit, the moments at which stacks and holders are asked for.
Does not cover: reading or asking (`watch.py`, `ask.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from crashcart.units import GIB, MIB

# The fastest growth of one process that was measured: touching fresh pages at 2 to 4 GiB/s on a server core.
FASTEST_BYTES_PER_S = 4 * GIB
SHORTEST_S = 0.01
LONGEST_S = 0.5
LOOKS_BEFORE_LIMIT = 4

SHORT_FRACTION = 0.6
"""From this share of the limit on, growth is worth a stack: what comes may be the end."""
SHORT_TIME_S = 1.5
"""Or when, at the present rate, the limit is this near."""

FULL_FRACTION = 0.85
FULL_S = 0.1
"""So close under the limit, stacks are read this often even without growth."""

FIRST_BEAT_S = 0.5
LONGEST_BEAT_S = 5.0
SETTLED_S = 4.0
"""A kernel answers within half a second, a program that imports TensorFlow begins its work within this."""
QUIET_S = 6.0
"""No processor time for this long is worth one look at all threads, in case it never wakes again."""


def interval_s(headroom_bytes: int | None) -> float:
    """How long to wait before the next sample: four looks fit in before the fastest growth could reach the limit."""
    if headroom_bytes is None:
        return LONGEST_S
    soonest_s = headroom_bytes / FASTEST_BYTES_PER_S
    return min(LONGEST_S, max(SHORTEST_S, soonest_s / LOOKS_BEFORE_LIMIT))


@dataclass(frozen=True, slots=True)
class Pressure:
    """Use against the tightest limit at one moment, and its growth."""

    used_bytes: int
    limit_bytes: int
    growth_bytes_per_s: float

    @property
    def fraction(self) -> float:
        """Share of the limit in use."""
        return self.used_bytes / self.limit_bytes if self.limit_bytes > 0 else 1.0

    @property
    def seconds_left(self) -> float:
        """Until the limit at the present growth; infinite when it does not grow."""
        if self.growth_bytes_per_s <= 0:
            return float("inf")
        return max(0, self.limit_bytes - self.used_bytes) / self.growth_bytes_per_s


def is_short(pressure: Pressure) -> bool:
    """Whether the end may be near enough for last words."""
    return pressure.fraction >= SHORT_FRACTION or pressure.seconds_left <= SHORT_TIME_S


def wants_last_words(pressure: Pressure, grown_since_last_bytes: int, since_last_s: float) -> bool:
    """Read the stacks again once use has grown by a hundredth of the limit, at most 20 times a second; and close under the
    limit, where the kernel's search for free pages slows every allocation down, also without growth."""
    step = max(16 * MIB, pressure.limit_bytes // 100)
    if pressure.fraction >= FULL_FRACTION and since_last_s >= FULL_S:
        return True
    return is_short(pressure) and since_last_s >= 0.05 and grown_since_last_bytes >= step


def next_beat_s(previous_s: float) -> float:
    """The slow beat: soon at first, so that short programs have one, then ever slower."""
    return min(LONGEST_BEAT_S, previous_s * 1.5)


def wants_holders(grown_since_last_bytes: int, since_last_s: float, limit_bytes: int | None) -> bool:
    """Look at the named objects when memory has grown markedly since the last look."""
    step = max(64 * MIB, (limit_bytes or 8 * GIB) // 20)
    return since_last_s >= 0.5 and grown_since_last_bytes >= step
