"""The search for the largest batch that fits, within a time of its own.

Covers: how long the next look will take, by those before it; what was seen to fit when the time is over.
Does not cover: where to look next (`fit/estimate.py`), and what a look is (`fit_step.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from crashcart.fit.estimate import largest_batch, stretched
from crashcart.graph import LOOPS, Graph
from crashcart.step import Bounds

# A look takes as long as the estimate did, and there are about eight. A step of loops over the batch (`tf.map_fn`) is walked turn
# by turn: an estimate of 0.7 s at batch 32 was followed by looks of 20 s each at batches of thousands.
_SEARCH_S, _SEARCH_TIMES = 30.0, 6.0
# Of the time that the whole command has left: the answer must be written, too.
_SHARE_OF_REST = 0.8
# A look that is expected to take more than this share of what is left is not begun.
_SHARE_OF_LOOK = 0.7
# A walk under a limit is several walks (`runs_under`).
_UNDER_LIMIT = 2.0
_LEAST_STEP = 1.1

_Seen = TypeVar("_Seen")


@dataclass(frozen=True, slots=True)
class Found:
    """What the search saw. `batch` is None where its time was over before it saw any that fits."""

    batch: int | None
    cut: bool = False
    """Whether its time was over: larger ones may fit."""
    plain: int = 0
    """The largest whose upper bound fits; a larger `batch` runs because its operations can wait."""
    smallest: Bounds | None = None
    """The figure at a batch of 1, where no batch surely fits."""
    likely: int = 0
    """The largest whose figure fits, whatever its upper bound; no less than `batch`, and 0 where none was seen."""


@dataclass
class Pace:
    """How long looks take. Where a step has loops, one at a larger batch may take as many times longer."""

    until_s: float
    loops: bool
    took_s: dict[int, float]
    cut: bool = field(default=False)

    def expected_s(self, batch: int) -> float:
        """By the line through the two largest batches so far; through nothing where there is one."""
        largest, slope = self._line()
        return max(self.took_s.values()) if batch <= largest else self.took_s[largest] + slope * (batch - largest)

    def affords(self, batch: int) -> bool:
        """Whether a look there ends in time; from the first that does not, the search is one that was cut."""
        enough = self.expected_s(batch) <= self._for_a_look_s()
        self.cut = self.cut or not enough
        return enough

    def most(self) -> int:
        """The largest batch that it can look at in time."""
        largest, slope = self._line()
        return largest + int((self._for_a_look_s() - self.took_s[largest]) / slope) if slope else largest

    def timed(self, batch: int, look: Callable[[int], _Seen]) -> _Seen:
        """Look there, and note how long that took."""
        began_s = time.monotonic()
        seen = look(batch)
        self.took_s[batch] = time.monotonic() - began_s
        return seen

    def _for_a_look_s(self) -> float:
        return _SHARE_OF_LOOK * (self.until_s - time.monotonic())

    def _line(self) -> tuple[int, float]:
        *_, largest = known = sorted(self.took_s)
        if not self.loops:
            return largest, 0.0
        if len(known) < 2:
            return largest, self.took_s[largest] / largest
        before = known[-2]
        return largest, max(0.0, (self.took_s[largest] - self.took_s[before]) / (largest - before))


class _TooLongError(Exception):
    """A look would not end in time."""


def end_of_search_s(estimate_s: float, until_s: float | None) -> float:
    """When the search has to end; `until_s` is when all of it has to."""
    now_s = time.monotonic()
    most_s = max(_SEARCH_S, _SEARCH_TIMES * estimate_s)
    return now_s + (most_s if until_s is None else min(most_s, _SHARE_OF_REST * (until_s - now_s)))


def has_loops(graph: Graph) -> bool:
    """Whether its walk may take longer the larger the batch is."""
    return any(node.op in LOOPS for each in (graph, *graph.functions.values()) for node in each.nodes)


def searched(
    batch: int, figure: Bounds, limit_bytes: int, look: Callable[[int], Bounds], runs: Callable[[int], bool] | None,
    pace: Pace,
) -> Found:  # fmt: skip
    """The largest batch that fits. `figure` is that of the asked `batch`; `runs` says whether a larger one runs under the limit,
    where operations can wait."""
    seen = {batch: figure}
    fits = _look_about(seen, limit_bytes, look, pace, _high_bytes)
    most = _stretched(fits, batch, runs, pace) if runs is not None else fits
    cut = pace.cut
    likely = max(most, _look_about(seen, limit_bytes, look, pace, _bytes))
    if most:
        return Found(most, cut, fits, None, likely)
    return Found(None if cut else 0, cut, 0, seen.get(1), likely)


def _high_bytes(figure: Bounds) -> int:
    return figure.high_bytes


def _bytes(figure: Bounds) -> int:
    return figure.bytes


def _look_about(
    seen: dict[int, Bounds], limit_bytes: int, look: Callable[[int], Bounds], pace: Pace, of: Callable[[Bounds], int]
) -> int:
    """The largest batch for which that `of` its figure fits. Look where the line through what was seen meets the limit; nearer
    where that would take too long."""

    def bytes_at(batch: int) -> int:
        if not pace.affords(batch):
            raise _TooLongError
        seen[batch] = pace.timed(batch, look)
        return of(seen[batch])

    while True:
        pace.cut = False
        try:
            largest_batch(bytes_at, {each: of(found) for each, found in seen.items()}, limit_bytes)
            pace.cut = _goes_on({each: of(found) for each, found in seen.items()}, limit_bytes)
            return _largest(seen, limit_bytes, of)
        except _TooLongError:
            fits = _largest(seen, limit_bytes, of)
            nearer = pace.most()
            if nearer <= fits * _LEAST_STEP or nearer in seen or nearer < 1:
                return fits
            seen[nearer] = pace.timed(nearer, look)


def _goes_on(known: dict[int, int], limit_bytes: int) -> bool:
    """Whether all that were seen fit, and the search had not come to its end: it would look at a larger one."""
    wanted: list[int] = []

    def look(batch: int) -> int:
        wanted.append(batch)
        return limit_bytes + 1

    largest_batch(look, dict(known), limit_bytes, looks=1)
    return bool(wanted) and max(known.values()) <= limit_bytes


def _largest(seen: dict[int, Bounds], limit_bytes: int, of: Callable[[Bounds], int]) -> int:
    return max((each for each, found in seen.items() if of(found) <= limit_bytes), default=0)


def _stretched(fits: int, asked: int, runs: Callable[[int], bool], pace: Pace) -> int:
    """The asked batch is looked at first: what was found before fits when it is asked for."""
    under = Pace(pace.until_s, pace.loops, {each: _UNDER_LIMIT * took for each, took in pace.took_s.items()})

    def runs_in_time(batch: int) -> bool:
        return under.affords(batch) and under.timed(batch, runs)

    found = stretched(asked if asked > fits and runs_in_time(asked) else fits, runs_in_time)
    pace.cut = pace.cut or under.cut
    return found
