"""Which of the counted kinds of steps is the step of a program.

Covers: choosing by the kind, by how much of the run it covers, and by how often it came; the steps of another kind that
had ended before these began, or came after them.
Does not cover: counting (`leaks/inside/_crashcart_steps.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import gcd
from typing import Any

from crashcart.growth import Steps

Record = dict[str, Any]
ORDER = (
    "marked",
    "keras batch",
    "tf.function call",
    "optimizer step",
    "session run",
    "loop",
    "dataset element",
    "cell",
)
"""What a person would call a step, the best first."""
LEAST_COVERED = 0.5
"""Of the time that the best-covering kind covers: a function that was only called at the beginning is no step."""
ENOUGH = 24
"""Fewer say too little of a trend, if another kind came more often."""
LEAST = 3
FASTEST_S = 30e-6
"""A loop that turns faster parses rows or adds numbers: it is no step of a training (`inside/_crashcart_loops.py` leaves it
alone where it can)."""
LEAST_PHASE = 16
"""Steps of another kind, before or after, that are worth being judged by themselves: fewer show no trend."""
LAST_TURNS = 2.0
LEAST_LATER = 0.2
"""Of a loop's time: another loop that came after it, and took less, may tell its results."""
LEAST_LEAPS, LEAST_STRIDE = 8, 8
"""Looks at even intervals see even leaps of a counter by chance; not of eight and more."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The kind of step that was chosen."""

    index: int
    stride: int
    steps: Steps
    first_s: float
    last_s: float
    """When the first and the last one were seen."""
    base: int = 0
    """What its counter stood at before."""

    def step(self, record: Record) -> int:
        """How many steps had been taken when a record was written."""
        return max(0, _count(record, self.index) - self.base) // self.stride


@dataclass(frozen=True, slots=True)
class Phases:
    """The step of a program, and those of other kinds that came before and after it."""

    main: Chosen | None = None
    earlier: Chosen | None = None
    later: Chosen | None = None


@dataclass(frozen=True, slots=True)
class _Candidate:
    index: int
    kind: str
    name: str
    own: bool
    count: int
    first_s: float
    last_s: float
    base: int
    stride: int

    @property
    def covered_s(self) -> float:
        return self.last_s - self.first_s

    @property
    def turns(self) -> int:
        return self.count // self.stride

    @property
    def each_s(self) -> float:
        return self.covered_s / max(1, self.turns - 1)

    @property
    def is_too_fast(self) -> bool:
        return self.kind == "loop" and self.turns >= ENOUGH and self.each_s < FASTEST_S


def phases(keys: list[list[Any]], looks: list[Record]) -> Phases:
    """The step, and what was stepped before and after it. A loop that ended, where the program went on with other steps, has
    loaded or prepared something: the steps are the later ones."""
    main, earlier = choose(keys, looks), None
    if main is None:
        return Phases()
    later = _after(keys, looks, main)
    while later is not None and _has_prepared(main, later):
        main, earlier = later, main
        later = _after(keys, looks, main)
    before = [each for each in looks if each["at"] < main.first_s]
    return Phases(main, earlier or _apart(keys, before, before), later)


def _after(keys: list[list[Any]], looks: list[Record], main: Chosen) -> Chosen | None:
    """The steps after the last step; what took no longer than a step or two is the rest of that one: an inner loop, say."""
    found = _apart(keys, [each for each in looks if each["at"] > main.last_s], looks)
    longest_s = LAST_TURNS * (main.steps.seconds_each or 0.0)
    return found if found is not None and found.last_s - main.last_s > longest_s else None


def _has_prepared(main: Chosen, later: Chosen) -> bool:
    """Whether a loop is one that came before the real steps: a framework's, or those of a loop that took its time, too."""
    if main.steps.kind != "loop":
        return False
    known = ORDER.index(later.steps.kind) if later.steps.kind in ORDER else len(ORDER)
    return known < ORDER.index("loop") or later.last_s - later.first_s >= LEAST_LATER * (main.last_s - main.first_s)


def _apart(keys: list[list[Any]], part: list[Record], looks: list[Record]) -> Chosen | None:
    """The step of a part of the run; None where it has too few."""
    before = max((each for each in looks if part and each["at"] < part[0]["at"]), key=_at, default=None)
    found = choose(keys, part, before)
    return found if found is not None and found.steps.count >= LEAST_PHASE else None


def _at(record: Record) -> float:
    return float(record["at"])


def choose(keys: list[list[Any]], looks: list[Record], before: Record | None = None) -> Chosen | None:
    """The step; None where nothing was counted. What was counted up to the record `before` does not count."""
    found = [each for each in _candidates(keys, looks, before) if each.count >= 1 and not each.is_too_fast]
    if not found:
        return None
    longest_s = max(each.covered_s for each in found)
    covering = [each for each in found if each.covered_s >= LEAST_COVERED * longest_s] or found
    often = [each for each in covering if each.count >= ENOUGH] or [each for each in covering if each.count >= LEAST]
    best = min(often or covering, key=_rank)
    each_s = best.each_s if best.turns > 1 and best.covered_s > 0 else None
    steps = Steps(best.kind, best.name, best.turns, each_s)
    return Chosen(best.index, best.stride, steps, best.first_s, best.last_s, best.base)


def is_too_fast(keys: list[list[Any]], looks: list[Record]) -> bool:
    """Whether all that was counted are loops that turn too fast to be steps."""
    found = [each for each in _candidates(keys, looks, None) if each.count >= 1]
    return bool(found) and all(each.is_too_fast for each in found)


def _rank(candidate: _Candidate) -> tuple[int, bool, int]:
    """The better kind first, the user's own before a library's; then what came most often. Of loops, the outermost."""
    often = candidate.count if candidate.kind == "loop" else -candidate.count
    return ORDER.index(candidate.kind) if candidate.kind in ORDER else len(ORDER), not candidate.own, often


def _candidates(keys: list[list[Any]], looks: list[Record], before: Record | None) -> Iterable[_Candidate]:
    for index, (kind, name, own) in enumerate(keys):
        base = _count(before, index) if before is not None else 0
        moved, last = [0.0, 0.0], base
        for look in looks:
            count = _count(look, index)
            if count > last:
                moved = [moved[0] if last > base else look["at"], look["at"]]
                last = count
        stride = _stride([_count(look, index) for look in looks]) if kind == "loop" else 1
        yield _Candidate(index, kind, name, bool(own), last - base, moved[0], moved[1], base, stride)


def _count(record: Record, index: int) -> int:
    counts = record.get("n") or []
    return int(counts[index]) if index < len(counts) else 0


def _stride(counts: list[int]) -> int:
    """By how much a loop's own counter moves at each turn: `range(0, n, 64)` counts in steps of 64. A counter that began
    anew was taken as one turn."""
    leaps = [after - before for before, after in pairwise(counts) if after > before]
    larger = [leap for leap in leaps if leap > 1]
    stride = gcd(*larger) if len(larger) >= max(LEAST_LEAPS, 0.8 * len(leaps)) else 1
    return stride if stride >= LEAST_STRIDE else 1
