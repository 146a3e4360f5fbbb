"""P112: the order of elements changes from run to run, and something depends on it."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.pipeline import _shared as about
from crashcart.rule import Rank, rule
from crashcart.stages import PipelineMemory, Stage

_DEPENDS = ("take", "skip", "shard", "cache", "snapshot")


@rule("P112", "order-not-deterministic", Rank.KIND)
def order_not_deterministic(pipeline: PipelineMemory) -> Iterator[Finding]:
    """Elements come in another order in each run or epoch, and a stage above depends on the order.

    ## What it means

    `take` and `skip` after an order that changes give other elements each time: a validation set made so shares
    elements with the training set. A cache keeps the order of the first epoch. A `take` alone may be meant as a
    sample, and is a note.

    ## How we know

    A shuffle that reshuffles in each iteration, or a stage with `deterministic=False`, lies below `take`, `skip` or
    `shard`; below a cache or a snapshot, one with `deterministic=False`.

    ## What to do

    `shuffle(n, seed=1, reshuffle_each_iteration=False)` before the split, or split the file names first.
    """
    for root, settings in pipeline.pipeline.parts:
        found = next(_depending(root, settings.deterministic is False), None)
        if found is not None:
            yield _found(*found)
            return


def _depending(root: Stage, loose: bool) -> Iterator[tuple[Stage, Stage]]:
    """Stages that depend on the order, each with one below that changes it."""
    for stage in root.walk():
        if stage.name in _DEPENDS and stage.input is not None:
            below = next((each for each in stage.input.walk() if _changes(each, stage, loose)), None)
            if below is not None:
                yield stage, below


def _changes(below: Stage, stage: Stage, loose: bool) -> bool:
    splits = stage.name in ("take", "skip", "shard")
    if below.name == "shuffle":
        again = below.numbers.get("reshuffle_each_iteration", 1) != 0
        return splits and again and below.input is not None and below.input.cardinality != 1
    parallel = below.parallel_calls is not None
    return below.words.get("deterministic") == "false" or (parallel and loose)


def _found(stage: Stage, below: Stage) -> Finding:
    why = "reshuffles in each iteration" if below.name == "shuffle" else "gives elements as they are ready"
    return Finding(
        Cause.DATA_CORRUPT,
        f"{about.label(stage)} takes other elements each time: {about.label(below)} below it {why}",
        (f"{about.label(below)} {why}, and {about.label(stage)} depends on the order",),
        ("shuffle(n, seed=1, reshuffle_each_iteration=False) before it",)
        if below.name == "shuffle"
        else ("deterministic=True there",),
        Confidence.CERTAIN,
        level=Level.RISK if stage.name in ("skip", "shard") else Level.NOTE,
    )
