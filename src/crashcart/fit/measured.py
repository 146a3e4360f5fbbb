"""The peak of a step at a batch, from real steps at smaller batches; and which of two estimates to believe.

Covers: which batches to try next, a line through what was measured, bounds that widen with the distance from it, the largest
batch by it; a traced and a measured estimate brought together.
Does not cover: running steps (`probe/tensorflow_trial.py`), or the trace (`estimate.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import log2

from crashcart.step import Bounds, Remedy, StepPeak
from crashcart.units import size

PARTS = (16, 8, 4)
"""Batches are tried at these parts of the one that is asked for, the smallest first, in one process."""
NEARER = (1, 2)
"""Then one of these in a process of its own, if it can be afforded: what came before in a process shows in its peaks."""
# The next batch is tried where it stays below this share of the limit even if everything grows with the batch.
_SHARE = 0.9
# How far a step's peak at one batch was from the same step's in another process, below and above, in models of the zoo
# (`python -m bench.fit.trials`). Two operations run at a time, and which of them ends first is chance: in a train step far more
# depends on it. On the host, so does which thread's heap a tensor comes from.
_CHANCE = {"device": (0.05, 0.08), "device train": (0.1, 0.12), "host": (0.1, 0.12), "host train": (0.1, 0.12)}
# Added for each doubling of the batch beyond the largest one measured: chunks of the allocator are larger than what is in
# them by a part that changes from batch to batch, and kernels choose other ways for larger inputs.
_DOUBLING = 0.08
# Nothing is said of batches beyond so many times the largest one measured: a slope that is chance in small steps would decide.
# A Dense layer of 51 weights, measured at 2 to 32, was said to fit up to 3672, and fits by the million.
_FARTHEST = 16


@dataclass(frozen=True, slots=True)
class Point:
    """Real steps at one batch."""

    batch: int
    peak_bytes: int
    """The most that was held in any of them, after the first."""
    held_bytes: int = 0
    """What stays between steps, whatever the batch: weights and slots."""
    seconds: float = 0.0
    """What one step took."""


def sizes(batch: int) -> tuple[int, ...]:
    """The batches to try first, the smallest first."""
    return tuple(sorted({max(1, -(-batch // part)) for part in PARTS}))


def next_size(points: Sequence[Point], batch: int, limit_bytes: int) -> int | None:
    """The batch to try next; None where the next one might not fit."""
    done = max((each.batch for each in points), default=0)
    rest = [each for each in sizes(batch) if each > done]
    if not rest or (points and points[-1].peak_bytes * rest[0] / done > _SHARE * limit_bytes):
        return None
    return rest[0]


def nearer_size(line: Line, batch: int, limit_bytes: int, budget_s: float, steps: int) -> int | None:
    """A larger batch that can be tried alone: the asked one, or half of it; None where both might not fit, or take too long."""
    for part in NEARER:
        size = -(-batch // part)
        seconds = line.last.seconds * steps * size / line.last.batch
        if size > line.last.batch and seconds <= budget_s and line.at(size).high_bytes <= _SHARE * limit_bytes:
            return size
    return None


@dataclass(frozen=True, slots=True)
class Line:
    """Peaks over batches: through the largest point, with the slope that all of them suggest and the slopes they allow."""

    points: tuple[Point, ...]
    phase: str = "train"
    figure: str = "device"

    @property
    def chance(self) -> tuple[float, float]:
        """How far below and above a peak another run of the same step may be."""
        return _CHANCE[f"{self.figure} train" if self.phase == "train" else self.figure]

    @property
    def last(self) -> Point:
        """The largest batch that was measured."""
        return max(self.points, key=lambda each: each.batch)

    def at(self, batch: int) -> Bounds:
        """The peak at a batch, and the interval it is said to lie in."""
        known = next((each for each in self.points if each.batch == batch), None)
        if known is None and batch < self.last.batch:
            return self._between(batch)
        start = known or self.last
        least, likeliest, most = self.slopes()
        beyond = batch - start.batch
        wider = _DOUBLING * log2(batch / start.batch)
        below, above = (each + wider for each in self.chance)
        middle = start.peak_bytes + likeliest * beyond
        low = (start.peak_bytes + least * beyond) * (1 - below)
        high = (start.peak_bytes + most * beyond) * (1 + above)
        return Bounds(int(middle), int(low), int(high) + 1)

    def slopes(self) -> tuple[float, float, float]:
        """Bytes for each further example: the least, the likeliest, the most.

        The likeliest is the middle of all pairs' slopes, each weighed with its distance: one batch at which the allocator
        happened to give out large chunks does not tilt the line. On the device, the slope between the last two counts where it
        is steeper: small batches may have their peak where weights are updated, whatever the batch, and larger ones elsewhere.
        For the same reason the most is half-way to the line from what stays between steps to the largest point, which is what the
        step would take if nothing else of it was independent of the batch; no slope is steeper than that.
        """
        steepest = max(0.0, self.last.peak_bytes - self.last.held_bytes) / self.last.batch
        ordered = sorted(self.points, key=lambda each: each.batch)
        pairs = sorted(
            (min(steepest, max(0.0, (b.peak_bytes - a.peak_bytes) / (b.batch - a.batch))), b.batch - a.batch)
            for index, a in enumerate(ordered)
            for b in ordered[index + 1 :]
        )
        if not pairs:
            return 0.0, steepest, steepest
        least, likeliest, most = pairs[0][0], _middle(pairs), pairs[-1][0]
        if self.figure == "device":
            a, b = ordered[-2:]
            likeliest = max(likeliest, min(steepest, (b.peak_bytes - a.peak_bytes) / (b.batch - a.batch)))
            most = max(most, (likeliest + steepest) / 2)
        return least, likeliest, most

    def largest(self, limit_bytes: int) -> int:
        """The largest batch whose upper bound stays below the limit, so far as it can be told; 0 where not even one does."""
        fits, fails = 0, self.last.batch * _FARTHEST + 1
        while fails - fits > 1:
            middle = (fits + fails) // 2
            fits, fails = (middle, fails) if self.at(middle).high_bytes <= limit_bytes else (fits, middle)
        return fits

    def is_least(self, largest: int) -> bool:
        """Whether larger batches than the largest found may fit as well: it lies as far out as is looked, or beyond all points
        while these differ by no more than chance, so that nobody knows the slope."""
        peaks = [each.peak_bytes for each in self.points]
        alike = max(peaks) <= min(peaks) * (1 + sum(self.chance))
        return largest >= self.last.batch * _FARTHEST or (alike and largest > self.last.batch)

    def _between(self, batch: int) -> Bounds:
        """Inside what was measured, a straight line from one point to the next; below the smallest, from what stays."""
        upper = min((each for each in self.points if each.batch > batch), key=lambda each: each.batch)
        below_it = [each for each in self.points if each.batch < batch]
        lower = max(below_it, key=lambda each: each.batch) if below_it else Point(0, upper.held_bytes)
        part = (batch - lower.batch) / (upper.batch - lower.batch)
        middle = lower.peak_bytes + part * (upper.peak_bytes - lower.peak_bytes)
        below, above = self.chance
        low, high = sorted((lower.peak_bytes, upper.peak_bytes))
        return Bounds(int(middle), int(low * (1 - below)), int(high * (1 + above)) + 1)


def _middle(weighed: Sequence[tuple[float, int]]) -> float:
    """The weighted median of sorted values."""
    half = sum(weight for _, weight in weighed) / 2
    reached = accumulate(weight for _, weight in weighed)
    return next(value for (value, _), sofar in zip(weighed, reached, strict=True) if sofar >= half)


def reconciled(traced: StepPeak | None, measured: StepPeak | None) -> StepPeak:
    """One estimate from two. Where the traced figure lies in the measured interval it is kept, with the interval that both
    allow; where it does not, real steps are believed, `method` is measured, and `assumed` has the reason."""
    if traced is None or measured is None:
        found = traced or measured
        assert found is not None
        return found
    device, host = _one(_device(traced), _device(measured)), _one(traced.host, measured.host)
    assert device is not None
    kept = _kept(traced.host, host) if traced.target == "host" else _kept(_device(traced), device)
    first, second = (traced, measured) if kept else (measured, traced)
    sought = second if first.largest_batch is None else first
    said = (*_differ(_device(traced), device, "device"), *_differ(traced.host, host, "host"))
    scaled, scale_said = _scaled(traced, host if traced.target == "host" else device)
    return replace(
        traced,
        peak_bytes=device.bytes,
        low_bytes=device.low_bytes,
        high_bytes=device.high_bytes,
        host=host,
        method=first.method,
        largest_batch=sought.largest_batch,
        larger_may_fit=sought.larger_may_fit,
        seconds=_together(traced.seconds, measured.seconds),
        remedies=scaled,
        assumed=tuple(dict.fromkeys((*traced.assumed, *measured.assumed, *said, *scale_said))),
    )


def _together(*seconds: float | None) -> float | None:
    known = [each for each in seconds if each is not None]
    return sum(known) if known else None


def _scaled(traced: StepPeak, chosen: Bounds | None) -> tuple[tuple[Remedy, ...], tuple[str, ...]]:
    """The remedies, which were traced, on the scale of the figure that stands; and what is to be said of it."""
    before = traced.compared
    if before is None or chosen is None or _kept(before, chosen) or not before.bytes:
        return traced.remedies, ()
    scale = chosen.bytes / before.bytes
    wider = max(1.0, chosen.high_bytes * before.bytes / max(1, chosen.bytes * before.high_bytes))
    found = tuple(
        replace(
            each,
            peak_bytes=int(each.peak_bytes * scale),
            high_bytes=None if each.high_bytes is None else int(each.high_bytes * scale * wider),
        )
        for each in traced.remedies
    )
    told = ["what is held at the peak, and its picture, are as traced"] if traced.kinds else []
    if found:
        told.append(f"the remedies were traced, too: each is taken times {scale:.2f}, as the step itself")
    return found, tuple(told)


def _device(step: StepPeak) -> Bounds:
    return Bounds(step.peak_bytes, step.low_bytes, step.high_bytes)


def _one(traced: Bounds | None, measured: Bounds | None) -> Bounds | None:
    if traced is None or measured is None:
        return traced or measured
    if not measured.low_bytes <= traced.bytes <= measured.high_bytes:
        return measured
    return Bounds(traced.bytes, max(traced.low_bytes, measured.low_bytes), min(traced.high_bytes, measured.high_bytes))


def _kept(traced: Bounds | None, chosen: Bounds | None) -> bool:
    return traced is not None and chosen is not None and traced.bytes == chosen.bytes


def _differ(traced: Bounds | None, chosen: Bounds | None, where: str) -> tuple[str, ...]:
    """The reason, where the traced figure was not kept."""
    if traced is None or chosen is None or _kept(traced, chosen):
        return ()
    told = f"the trace says {size(traced.bytes)} on the {where}, real steps say {size(chosen.bytes)}"
    return (f"{told}: the steps are believed",)
