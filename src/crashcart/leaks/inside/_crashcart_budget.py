"""What looks may take of a program's time: a share of it, from its first step on.

Covers: adding up what looks took, and how long to wait until that is within the share again. The share holds for steps of any
length: where a step takes a millisecond, one in ten is looked at or fewer.
Does not cover: closer looks (`_crashcart_depth` has shares of its own).
"""

from __future__ import annotations

SHARE, CREDIT_S = 0.006, 0.02
"""That share of the time since the first step, and so much at once: some hundred looks (22 µs each in a row, 150 µs where a
training has filled the processor's caches in between)."""
MOST_S, LONGEST_PAUSE_S = 0.001, 0.1
"""What took longer was not the look, but the collector or another thread that came in between; and ten looks a
second, a four-hundredth of the time at most, are taken in any case: a short stretch of the run would go unseen otherwise."""
PRECISE_SHARE, PRECISE_MOST_S = 0.1, 0.02
"""The same with `--precise`: our own looks are followed, too, and take many times as long."""


class Budget:
    """Of one watch."""

    def __init__(self, precise: bool) -> None:
        self.share, self.most_s = (PRECISE_SHARE, PRECISE_MOST_S) if precise else (SHARE, MOST_S)
        self.spent_s = 0.0
        self._before_s: tuple[float, float] | None = None
        """How long the program had run at its first step, and what looks had taken by then."""

    def begin(self, ran_s: float) -> None:
        """The first step has come: what a program took to get ready earns it no looks."""
        if self._before_s is None:
            self._before_s = (ran_s, self.spent_s)

    def spend(self, cost_s: float) -> None:
        """A look took so long."""
        self.spent_s += min(cost_s, self.most_s)

    def pause_s(self, ran_s: float) -> float:
        """How long not to look: until all of them together have taken no more than their share."""
        ready_s, spent_s = self._before_s or (0.0, 0.0)
        over_s = self.spent_s - spent_s - CREDIT_S - self.share * (ran_s - ready_s)
        return max(0.0, min(over_s / self.share, LONGEST_PAUSE_S))
