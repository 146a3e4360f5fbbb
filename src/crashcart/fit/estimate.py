"""The peak of a step, from several walks over it, and the largest batch whose step fits.

Covers: the figure, its bounds, what is held at the peak; the search for a batch.
Does not cover: the walk (`walk.py`), or where the memory comes from.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable

from crashcart.fit.walk import Peak, Walk
from crashcart.graph import Graph
from crashcart.step import HeldTensor, StepPeak

# The most of steps 2 to 5 is what the allocator's peak is measured over; the first step finds an empty allocator.
STEPS = 5
TRIALS = {"train": 3, "predict": 1}
# Loops run in one order, so that a further trial of a step that is mostly a loop would say the same again.
MOST_OPERATIONS = 60_000
LARGEST_NAMED = 5
# Bounds set by hand, wide enough for the errors that were seen when the walk was written; not fitted, and not cross-validated.
BELOW = {"train": 0.89, "predict": 0.95}
ABOVE = {"train": 1.12, "predict": 1.08}
# With a loop: real loops overlap in time, which the walk does not follow, and were measured up to 12 % above it.
LOOP_BELOW, LOOP_ABOVE = 0.8, 1.17


def estimate(graph: Graph, phase: str, batch: int, cores: int) -> StepPeak:
    """Walk a few times; which operation ends first is chance, so the middle of the trials' peaks is taken."""
    trials: list[Peak] = []
    operations = 0
    while len(trials) < TRIALS[phase] and operations <= MOST_OPERATIONS:
        walk = Walk(graph, cores, seed=len(trials))
        trials.append(_trial(walk, phase))
        operations += walk.operations
    middle = statistics.median_low([each.bytes for each in trials])
    peak = next(each for each in trials if each.bytes == middle)
    low, high = min(each.bytes for each in trials), max(each.bytes for each in trials)
    below, above = (LOOP_BELOW, LOOP_ABOVE) if graph.functions else (BELOW[phase], ABOVE[phase])
    kinds: Counter[str] = Counter()
    for _, kind, count in peak.held:
        kinds[kind] += count
    return StepPeak(
        phase,
        batch,
        middle,
        min(low, int(middle * below)),
        max(high, int(middle * above)),
        dict(kinds),
        peak.node,
        tuple(HeldTensor(*each) for each in peak.held[:LARGEST_NAMED]),
    )


def _trial(walk: Walk, phase: str) -> Peak:
    inputs = [walk.graph.nodes[index].outputs[0] for index in walk.graph.arguments]
    best = Peak()
    for number in range(STEPS):
        walk.target_bytes = best.bytes + 1 if number else None
        peak = walk.step(inputs, held=phase == "predict")
        if number and peak.bytes > best.bytes:
            best = peak
        if number and walk.operations > MOST_OPERATIONS:
            break
    return best


def largest_batch(peak_at: Callable[[int], int], known: dict[int, int], limit_bytes: int, looks: int = 8) -> int:
    """The largest batch whose upper bound stays below the limit; 0 where not even one does.

    The peak is nearly a line in the batch, so each look goes where the line through the two nearest known batches meets the
    limit. `known` has the figures that were computed before.
    """
    fits, fails = 0, 0
    for _ in range(looks):
        fits = max((batch for batch, peak in known.items() if peak <= limit_bytes), default=0)
        fails = min((batch for batch, peak in known.items() if peak > limit_bytes and batch > fits), default=0)
        if fails == fits + 1:
            break
        guess = _meets(known, limit_bytes)
        guess = max(guess, fits + 1)
        if fails:
            guess = min(guess, fails - 1)
        if guess in known:
            break
        known[guess] = peak_at(guess)
    return max((batch for batch, peak in known.items() if peak <= limit_bytes), default=0)


def _meets(known: dict[int, int], limit_bytes: int) -> int:
    """Where the line through the two batches nearest to the limit meets it."""
    nearest = sorted(known, key=lambda batch: abs(known[batch] - limit_bytes))[:2]
    if len(nearest) < 2:
        return max(1, nearest[0] // 2 if known[nearest[0]] > limit_bytes else nearest[0] * 2)
    first, second = sorted(nearest)
    slope = (known[second] - known[first]) / (second - first)
    if slope <= 0:
        return second * 2
    return max(1, int(first + (limit_bytes - known[first]) / slope))
