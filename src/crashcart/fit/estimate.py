"""The peak of a step, from several walks over it, and the largest batch whose step fits.

Covers: the figure, its bounds, what is held at the peak and over the step; the search for a batch.
Does not cover: the walk (`walk.py`), or where the memory comes from.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Collection

from crashcart.fit.again import again
from crashcart.fit.chunks import FIRST_REGION_BYTES, ROUND_BYTES, Chunks, FullError
from crashcart.fit.journal import Journal
from crashcart.fit.kernels import CHEAP, SHORT_BYTES, VOLUME_CACHE_BYTES, VOLUMES
from crashcart.fit.tape import Player
from crashcart.fit.walk import Plans, Walk
from crashcart.graph import Graph
from crashcart.step import StepPeak
from crashcart.units import plural, size

# The most of steps 2 to 5 is what the allocator's peak is measured over; the first step finds an empty allocator.
STEPS = 5
# Which operation ends first is chance. In small steps the peak depends much on it, and many trials cost little; in large ones
# they would take seconds, and differ by little.
TRIALS = 9
# Where the first so many have one peak, chance plays no part in it (of 92 rows none had another peak with more).
ALIKE = 3
MOST_OPERATIONS = 40_000
# Within a trial there are all steps, unless they would take some seconds too.
MOST_OPERATIONS_OF_TRIAL = 100_000
# A loop walks the same operations at each turn, while its trace costs them once. Trials of recurrent steps end when each of
# them was walked so often: after one step that predicts and three that train (three nets). The peaks of later ones differ by a
# hundredth or two where they predict, by three where they train.
MOST_TIMES_WALKED = {"train": 60, "evaluate": 36, "predict": 36}
# Under a limit the allocator has found its layout by then.
STEPS_UNDER_LIMIT = 3
# Where an operation waits for memory, the updates beside it go on, and find the variable that it reads in use: its new value
# lies elsewhere from then on, in the midst of what was free (read from the allocator's dump of mlp, which died so). Which ones
# is chance; under a limit the steps have to run in all of these trials, or in as many as do not take seconds, two at least.
MOVED = (0.0, *[0.3] * 6)
MOST_OPERATIONS_MOVED = 60_000
# With these, no batch died that was found with so much to spare. Without, training cnn needed 1.16 times what the walk did, gru
# more than 1.06 times it, and eight of twelve models of the zoo at most 1.04 times.
SPARE = 1.08
# The upper bound has other room as well; where it lay on what the walk needed, custom_step died at 1.03 times that, and decoder
# at 1.02.
BOUND_SPARE = 1.06
# Training conv1d lives at 1.8 times the batch whose peak is below the limit when memory is free, conv3d at 2.4 times that.
MOST_STRETCH = 4
STRETCH_LOOKS = 5
RAISE = 1.03
# As the command takes it: TensorFlow counts elements of a side in 32 bits at places.
MOST_BATCH = (1 << 31) - 1
MOST_RAISES = 40
LARGEST_NAMED = 5
# Of the peak; the figure itself is not that exact.
LEAST_GUESSED = 0.01
_BY_DATA = "whose size depends on the data were taken as large as the batch"
_UNTOLD = "whose size the trace does not tell were taken as large as what they are made of"
MIB = 1 << 20
# What `python -m bench.fit.bounds` says, which compares the estimates with true peaks of 23 models of 16 families: 2.2 standard
# deviations of their ratio. With bounds from other families alone the truth was above in 1 of 92 rows. To train, the upper one is
# wider than that (1.10): of 18 models outside of the zoo the worst of five steps was above 1.10 times the figure for two, at 1.13
# (attention with dropout) and 1.14 times it (clipped gradients with an average of the weights).
BELOW = {"train": 0.91, "evaluate": 0.95, "predict": 0.95}
ABOVE = {"train": 1.15, "evaluate": 1.05, "predict": 1.05}
# Steps in 16 bits: of four models the truth was 0.77, 0.97, 1.0 and 1.0 of the figure. Gradients of convolutions take 4 to 20
# times as long as in 32 bits, and how many of them run at a time decides.
BELOW_SHORT = {"train": 0.75, "evaluate": 0.85, "predict": 0.85}
ABOVE_SHORT = {"train": 1.20, "evaluate": 1.15, "predict": 1.15}
_SHORT = "products in 16 bits are widened to 32, as the kernels of the CPU do; a GPU does without these copies"


def estimate(
    graph: Graph,
    phase: str,
    batch: int,
    cores: int,
    optimizers: Collection[str] = (),
    plans: Plans | None = None,
) -> StepPeak:
    """Walk a few times; which operation ends first is chance, so the middle of the trials' peaks is taken. `optimizers` are
    their names, where they are not Keras' own. `plans` is the graph prepared, where that was done before."""
    plans = Plans(graph, cores, optimizers) if plans is None else plans
    peak = _middle(plans, phase)
    middle = peak.bytes
    held = peak.held()
    kinds: Counter[str] = Counter()
    for each in held:
        kinds[each.kind] += each.bytes
    short = _is_short(graph, middle)
    below, above = (BELOW_SHORT, ABOVE_SHORT) if short else (BELOW, ABOVE)
    high_bytes = living_bytes(plans, phase, int(middle * above[phase]))
    more_bytes, said = guessed(graph, middle, plans)
    return StepPeak(
        phase,
        batch,
        middle,
        int(middle * below[phase]),
        high_bytes + more_bytes,
        dict(kinds),
        peak.node,
        tuple(held[:LARGEST_NAMED]),
        moments=peak.moments(),
        assumed=(*said, *_of_processor(graph), *([_SHORT] if short else [])),
    )


def _middle(plans: Plans, phase: str) -> Journal:
    """The step whose peak is in the middle of the trials'. Where more than half of them have one peak, the others cannot change
    it, and are not walked."""
    trials: list[Journal] = []
    operations, most, in_loops = 0, TRIALS, MOST_TIMES_WALKED[phase] * plans.graph.operations
    while len(trials) < most:
        walk = Walk(plans.graph, plans.cores, seed=len(trials), plans=plans)
        plans.walks[len(trials), phase == "predict"] = walk
        trials.append(most_held(walk, phase, most_operations=min(MOST_OPERATIONS_OF_TRIAL, in_loops)))
        operations += sum(tape.operations for tape in walk.tapes)
        # Trials have about as many operations each; one begins where those before it had no more than the most.
        most = min(TRIALS, min(MOST_OPERATIONS, in_loops) * len(trials) // max(1, operations) + 1)
        found = [each.bytes for each in trials]
        if 2 * found.count(found[-1]) > most or (len(found) == ALIKE and len(set(found)) == 1):
            return trials[found.index(found[-1])]
    middle = statistics.median_low([each.bytes for each in trials])
    return next(each for each in trials if each.bytes == middle)


def guessed(graph: Graph, peak_bytes: int, plans: Plans | None = None) -> tuple[int, tuple[str, ...]]:
    """What the upper bound is raised by for tensors whose size only the data tells, and the words for it: as much as they take,
    as if they were twice as large and there all at once, but no more than the peak. Little ones are passed over. `plans` tells
    what was guessed while it was walked."""
    by_data = [
        each.bytes or 0
        for function in (graph, *graph.functions.values())
        for node in function.nodes
        for each in node.outputs
        if each.guessed
    ]
    while_walked = list(plans.prepared.unsure.values()) if plans is not None else []
    said = [
        f"{plural(len(found), 'tensor')} {words}"
        for found, words in ((by_data, _BY_DATA), (while_walked, _UNTOLD))
        if sum(found) >= LEAST_GUESSED * peak_bytes
    ]
    told = (*said, *looped(plans)) if plans is not None else tuple(said)
    if plans is not None and any(not limited for _, limited in plans.prepared.turns.values()):
        return peak_bytes, told  # nobody knows how many turns there are
    return min(sum(by_data) + sum(while_walked), peak_bytes) if said else 0, told


def _is_short(graph: Graph, peak_bytes: int) -> bool:
    """Whether the step computes in 16 bits, as far as it matters."""
    nodes = (node for each in (graph, *graph.functions.values()) for node in each.nodes if node.op not in CHEAP)
    found = sum(each.bytes or 0 for node in nodes for each in node.outputs if each.item_bytes == SHORT_BYTES)
    return found > LEAST_GUESSED * peak_bytes


def _of_processor(graph: Graph) -> tuple[str, ...]:
    """The words where kernels size their scratch by a cache that is not known."""
    nodes = (node for each in (graph, *graph.functions.values()) for node in each.nodes)
    if graph.cache_bytes is not None or not any(node.op in VOLUMES for node in nodes):
        return ()
    taken = size(VOLUME_CACHE_BYTES)
    return (f"gradients of Conv3D take scratch by the processor's last-level cache, which was taken as {taken}",)


def looped(plans: Plans) -> tuple[str, ...]:
    """The words for loops whose turns only the data tells."""
    return tuple(
        f"a loop whose turns depend on the data was taken as {plural(turns, 'turn')}{', its limit' if limited else ''}"
        for turns, limited in sorted(set(plans.prepared.turns.values()))
    )


def most_held(walk: Walk, phase: str, steps: int = STEPS, most_operations: int = MOST_OPERATIONS_OF_TRIAL) -> Journal:
    """The step that held the most of those that are looked at. Two in a row that do the same are followed by others like them;
    where there is time for two alone, the second is the first one again, if that can be."""
    inputs = [walk.graph.nodes[index].outputs[0] for index in walk.graph.arguments]
    best = walk.step(inputs, held=phase == "predict")
    second = again(walk) if 2 * walk.operations > most_operations else None
    if second is not None:
        return second
    for number in range(1, steps):
        found = walk.step(inputs, held=phase == "predict")
        if number == 1 or found.bytes > best.bytes:
            best = found
        if walk.operations > most_operations or walk.tapes[-1].entries == walk.tapes[-2].entries:
            break
    return best


def lives(plans: Plans, phase: str, limit_bytes: int, seed: int = 0, moved: float = 0.0) -> bool:
    """Whether the model is built and its steps run to their end on an allocator with that limit."""
    most_operations = min(MOST_OPERATIONS, MOST_TIMES_WALKED[phase] * plans.graph.operations)
    try:
        if not moved and _plays(plans, phase, limit_bytes, seed, most_operations):
            return True
        if phase != "train" and (seed, phase == "predict") in plans.walks:
            return False  # its operations follow one another: of 46 rows only one would live by waiting
        walk = Walk(plans.graph, plans.cores, seed, _whole(limit_bytes), plans, written=False, moved=moved)
        most_held(walk, phase, STEPS_UNDER_LIMIT, most_operations)
    except FullError:
        return False
    return True


def _plays(plans: Plans, phase: str, limit_bytes: int, seed: int, most_operations: int) -> bool:
    """Whether steps that were walked without a limit find room under that one: a walk under it would go the same way."""
    walk = plans.walks.get((seed, phase == "predict"))
    if walk is None:
        return False
    player, operations = Player(_whole(limit_bytes)), 0
    try:
        for tape in walk.tapes[: STEPS_UNDER_LIMIT + 1]:
            player.play(tape)
            operations += tape.operations
            if operations > most_operations:
                break
    except FullError:  # in a walk, an operation would wait for others first
        return False
    return True


def _whole(limit_bytes: int) -> Chunks:
    """All of the limit at once, as TensorFlow takes it on a GPU, and a real run under a limit does: where it grows piece by
    piece, more is lost between them. The first piece is there before anything can ask for more."""
    chunks = Chunks(limit_bytes)
    first = chunks.allocate(1)
    rest = chunks.allocate(max(1, (limit_bytes - FIRST_REGION_BYTES) // ROUND_BYTES * ROUND_BYTES))
    chunks.free(first)
    chunks.free(rest)
    return chunks


def living_bytes(plans: Plans, phase: str, limit_bytes: int) -> int:
    """The least limit, from that one on, under which they do with a little to spare, in whole MiB: TensorFlow's own limits
    are. It lies above what is ever held where free memory lies in pieces, and where the first values of the weights take
    more than a step does."""
    limit = -(-limit_bytes // MIB)
    for _ in range(MOST_RAISES):
        if lives(plans, phase, int(limit * MIB / BOUND_SPARE)):
            break
        limit = math.ceil(limit * RAISE)
    return limit * MIB


def runs_under(graph: Graph, phase: str, cores: int, limit_bytes: int, optimizers: Collection[str] = ()) -> bool:
    """Whether the steps run under the limit with a little to spare, whichever operation ends first. They do so below the peak
    too, where one of two operations can wait until the other has freed its memory. Not where a size depends on the data."""
    if guessed(graph, limit_bytes)[0]:
        return False
    plans = Plans(graph, cores, optimizers)
    limit_bytes = int(limit_bytes / SPARE)
    trials = MOST_OPERATIONS_MOVED // (STEPS_UNDER_LIMIT * max(1, graph.operations)) if phase == "train" else 0
    tried = enumerate(MOVED[: max(2, trials)])
    runs = all(lives(plans, phase, limit_bytes, seed, moved) for seed, moved in tried)
    return runs and not guessed(graph, limit_bytes, plans)[0]


def stretched(batch: int, runs_at: Callable[[int], bool]) -> int:
    """The largest batch from that one on, up to so many times it, at which the steps still run: doubled as often as that goes,
    then by halving what is left."""
    fits, fails = batch, 2 * batch + 1
    while fits and fails <= MOST_STRETCH * batch and runs_at(2 * fits):
        fits, fails = 2 * fits, 4 * fits + 1
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

    The peak is nearly a line in the batch, so each look goes where the line through the two known batches next to the limit meets
    it; where two looks in a row fell on one side of it, which steps in the peak cause, the next goes halfway. `known` has the
    figures that were computed before. The batch that is returned was itself looked at; where the line says that a larger one
    within a hundredth of it would fit at most, it is not sought.
    """
    sides: list[bool] = []
    for _ in range(looks):
        fits = max((batch for batch, peak in known.items() if peak <= limit_bytes), default=0)
        fails = min((batch for batch, peak in known.items() if peak > limit_bytes and batch > fits), default=0)
        near = fits + max(1, fits // 100)
        guess = _meets(known, limit_bytes)
        if (fails and fails <= near) or (fits and len(known) > 1 and fits <= guess < near):
            break
        guess = min(max(guess, fits + 1), MOST_BATCH)
        if fails:
            stuck = len(sides) > 1 and sides[-1] == sides[-2]
            guess = (fits + fails) // 2 if stuck else min(guess, fails - 1)
        if guess in known or guess < 1:
            break
        known[guess] = peak_at(guess)
        sides.append(known[guess] <= limit_bytes)
    return max((batch for batch, peak in known.items() if peak <= limit_bytes), default=0)


def _meets(known: dict[int, int], limit_bytes: int) -> int:
    """Where the line through the two batches next to the limit meets it: the largest that fits and the smallest that does not, or
    the two that are nearest where all are on one side. With one batch alone, the line through nothing, which is on the safe side
    of the true one above that batch, and not far from it below."""
    fits = sorted(batch for batch, peak in known.items() if peak <= limit_bytes)
    fails = sorted(batch for batch, peak in known.items() if peak > limit_bytes)
    nearest = [*fits[-1:], *fails[:1]] if fits and fails else (fits[-2:] or fails[:2])
    first = nearest[0]
    if len(nearest) < 2:
        return max(1, first * limit_bytes // max(1, known[first]))
    first, second = sorted(nearest)
    slope = (known[second] - known[first]) / (second - first)
    if slope <= 0:  # small peaks are alike: the allocator's first region is as large
        return second * 8
    return max(1, int(first + (limit_bytes - known[first]) / slope))
