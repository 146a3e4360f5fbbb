"""The peak of a step, from several walks over it, and the largest batch whose step fits.

Covers: the figure, its bounds, what is held at the peak and over the step; the search for a batch.
Does not cover: the walk (`walk.py`), or where the memory comes from.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Collection

from crashcart.fit.chunks import Chunks, FullError
from crashcart.fit.journal import Journal
from crashcart.fit.walk import Plans, Walk
from crashcart.graph import Graph
from crashcart.step import StepPeak
from crashcart.units import plural

# The most of steps 2 to 5 is what the allocator's peak is measured over; the first step finds an empty allocator.
STEPS = 5
# Which operation ends first is chance. In small steps the peak depends much on it, and many trials cost little; in large ones
# they would take seconds, and differ by little.
TRIALS = 9
MOST_OPERATIONS = 40_000
# Within a trial there are all steps, unless they would take some seconds too.
MOST_OPERATIONS_OF_TRIAL = 100_000
# Under a limit the allocator has found its layout by then.
STEPS_UNDER_LIMIT = 3
SEEDS_UNDER_LIMIT = 2
# In the walk the training steps of nine models needed 0.81 to 1.11 times their peak. Real runs lived at 0.85 times it where the
# walk needed 0.81 (twice), and died at 0.90 where it needed 0.85 (once).
SPARE = 1.1
MOST_STRETCH = 1.4
STRETCH_LOOKS = 4
RAISE = 1.03
MOST_RAISES = 40
LARGEST_NAMED = 5
# Of the peak; the figure itself is not that exact.
LEAST_GUESSED = 0.01
MIB = 1 << 20
# What `python -m bench.fit.bounds` says, which compares the estimates with true peaks of 23 models of 16 families: 2.2 standard
# deviations of their ratio. With bounds from other families alone the truth was above in 1 of 92 rows.
BELOW = {"train": 0.91, "evaluate": 0.95, "predict": 0.95}
ABOVE = {"train": 1.10, "evaluate": 1.05, "predict": 1.05}


def estimate(graph: Graph, phase: str, batch: int, cores: int, optimizers: Collection[str] = ()) -> StepPeak:
    """Walk a few times; which operation ends first is chance, so the middle of the trials' peaks is taken. `optimizers` are
    their names, where they are not Keras' own."""
    plans = Plans(graph, cores, optimizers)
    trials: list[Journal] = []
    operations = 0
    while len(trials) < TRIALS and operations <= MOST_OPERATIONS:
        walk = Walk(graph, cores, seed=len(trials), plans=plans)
        trials.append(most_held(walk, phase))
        operations += walk.operations
    middle = statistics.median_low([each.bytes for each in trials])
    peak = next(each for each in trials if each.bytes == middle)
    held = peak.held()
    kinds: Counter[str] = Counter()
    for each in held:
        kinds[each.kind] += each.bytes
    high_bytes = living_bytes(plans, phase, int(middle * ABOVE[phase]))
    more_bytes, said = guessed(graph, middle)
    return StepPeak(
        phase,
        batch,
        middle,
        int(middle * BELOW[phase]),
        high_bytes + more_bytes,
        dict(kinds),
        peak.node,
        tuple(held[:LARGEST_NAMED]),
        moments=peak.moments(),
        assumed=said,
    )


def guessed(graph: Graph, peak_bytes: int) -> tuple[int, tuple[str, ...]]:
    """What the upper bound is raised by for tensors whose size only the data tells, and the words for it: as much as they take,
    as if they were twice as large and there all at once, but no more than the peak. Little ones are passed over."""
    found = [
        each.bytes or 0
        for function in (graph, *graph.functions.values())
        for node in function.nodes
        for each in node.outputs
        if each.guessed
    ]
    if sum(found) < LEAST_GUESSED * peak_bytes:
        return 0, ()
    said = f"{plural(len(found), 'tensor')} whose size depends on the data were taken as large as the batch"
    return min(sum(found), peak_bytes), (said,)


def most_held(walk: Walk, phase: str, steps: int = STEPS, most_operations: int = MOST_OPERATIONS_OF_TRIAL) -> Journal:
    """The step that held the most of those that are looked at."""
    inputs = [walk.graph.nodes[index].outputs[0] for index in walk.graph.arguments]
    best = walk.step(inputs, held=phase == "predict")
    for number in range(1, steps):
        found = walk.step(inputs, held=phase == "predict")
        if number == 1 or found.bytes > best.bytes:
            best = found
        if walk.operations > most_operations:
            break
    return best


def lives(plans: Plans, phase: str, limit_bytes: int, seed: int = 0) -> bool:
    """Whether the model is built and its steps run to their end on an allocator with that limit."""
    try:
        walk = Walk(plans.graph, plans.cores, seed, Chunks(limit_bytes), plans)
        most_held(walk, phase, STEPS_UNDER_LIMIT, MOST_OPERATIONS)
    except FullError:
        return False
    return True


def living_bytes(plans: Plans, phase: str, limit_bytes: int) -> int:
    """The least limit, from that one on, under which they do, in whole MiB: TensorFlow's own limits are. It lies above what
    is ever held where free memory lies in pieces, and where the first values of the weights take more than a step does."""
    limit = -(-limit_bytes // MIB)
    for _ in range(MOST_RAISES):
        if lives(plans, phase, limit * MIB):
            break
        limit = math.ceil(limit * RAISE)
    return limit * MIB


def runs_under(graph: Graph, phase: str, cores: int, limit_bytes: int) -> bool:
    """Whether the steps run under the limit with a little to spare, whichever operation ends first. They do so below the peak
    too, where one of two operations can wait until the other has freed its memory."""
    plans = Plans(graph, cores)
    return all(lives(plans, phase, int(limit_bytes / SPARE), seed) for seed in range(SEEDS_UNDER_LIMIT))


def stretched(batch: int, runs_at: Callable[[int], bool]) -> int:
    """The largest batch from that one on, up to so many times it, at which the steps still run."""
    fits, fails = batch, int(batch * MOST_STRETCH) + 1
    for _ in range(STRETCH_LOOKS):
        middle = (fits + fails) // 2
        if middle in (fits, fails):
            break
        if runs_at(middle):
            fits = middle
        else:
            fails = middle
    return fits


def largest_batch(peak_at: Callable[[int], int], known: dict[int, int], limit_bytes: int, looks: int = 8) -> int:
    """The largest batch whose upper bound stays below the limit; 0 where not even one does.

    The peak is nearly a line in the batch, so each look goes where the line through the two nearest known batches meets the
    limit. `known` has the figures that were computed before. The batch that is returned was itself looked at; where the line
    says that a larger one within a hundredth of it would fit at most, it is not sought.
    """
    for _ in range(looks):
        fits = max((batch for batch, peak in known.items() if peak <= limit_bytes), default=0)
        fails = min((batch for batch, peak in known.items() if peak > limit_bytes and batch > fits), default=0)
        near = fits + max(1, fits // 100)
        guess = _meets(known, limit_bytes)
        if (fails and fails <= near) or (fits and len(known) > 1 and fits <= guess < near):
            break
        guess = max(guess, fits + 1)
        if fails:
            guess = min(guess, fails - 1)
        if guess in known or guess < 1:
            break
        known[guess] = peak_at(guess)
    return max((batch for batch, peak in known.items() if peak <= limit_bytes), default=0)


def _meets(known: dict[int, int], limit_bytes: int) -> int:
    """Where the line through the two batches nearest to the limit meets it; with one batch alone, the line through nothing, which
    is on the safe side of the true one above that batch, and not far from it below."""
    nearest = sorted(known, key=lambda batch: abs(known[batch] - limit_bytes))[:2]
    first = nearest[0]
    if len(nearest) < 2:
        return max(1, first * limit_bytes // max(1, known[first]))
    first, second = sorted(nearest)
    slope = (known[second] - known[first]) / (second - first)
    if slope <= 0:
        return second * 2
    return max(1, int(first + (limit_bytes - known[first]) / slope))
