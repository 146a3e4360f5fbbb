"""P106: a cheap map is called for each element, and a batch comes right after it."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.pipeline import _shared as about
from crashcart.pipeline._tell import named, place
from crashcart.rule import Rank, rule
from crashcart.stages import PipelineMemory, Stage
from crashcart.units import size

_MOST_OPERATIONS = 40
_SMALL_BYTES = 16 << 10
_NOT_VECTORISED = ("Decode", "ReadFile", "ParseExample", "EagerPyFunc", "PyFunc", "While", "Random", "Dataset")


@rule("P106", "single-elements-mapped", Rank.KIND)
def single_elements_mapped(pipeline: PipelineMemory) -> Iterator[Finding]:
    """A cheap function is called for each small element, and a batch follows.

    ## What it means

    Each call costs tens of microseconds whatever it computes. With the batch first, one call does the work of a batch.

    ## How we know

    The map is followed by a batch, its elements are small and of known shape, and its function has few operations, none
    of which works on single elements only.

    ## What to do

    `batch(n).map(f)` instead of `map(f).batch(n)`, where f works on batches as well.
    """
    for count, below in _mapped_singly(pipeline.pipeline.root):
        assert below.element is not None
        yield Finding(
            Cause.CLEAN_EXIT,
            f"{named(below)} is called {count} times for a batch",
            (f"its function has {_operations(below)} operations, and an element {size(below.element.bytes)}",),
            (f"batch({count}).map(f) calls it once for a batch, if f works on batches",),
            Confidence.POSSIBLE,
            place(below),
            level=Level.NOTE,
        )


def _mapped_singly(root: Stage) -> Iterator[tuple[int, Stage]]:
    """Batches with the cheap map before each; one that several stages read is told once."""
    told: set[tuple[int, str]] = set()
    for stage in _written(root):
        below = _input(stage)
        if stage.name in about.BATCHES and below is not None and below.name in about.MAPS and _is_cheap(below):
            found = stage.numbers.get("batch_size", 0), named(below)
            if found not in told:
                told.add(found)
                yield found[0], below


def _written(stage: Stage) -> Iterator[Stage]:
    """The stages that the user wrote: `rejection_resample` batches by itself, for a scan of its own, and so do others whose
    functions have no line of the user's."""
    yield stage
    if stage.name != "scan" or any(each.where is not None for each in stage.functions):
        for each in stage.inputs:
            yield from _written(each)


def _input(stage: Stage) -> Stage | None:
    below = stage.input
    while below is not None and below.name in ("shuffle", "prefetch", "options"):
        below = below.input
    return below


def _operations(stage: Stage) -> int:
    function = stage.function
    return 0 if function is None else sum(function.operations.values())


def _is_cheap(stage: Stage) -> bool:
    function = stage.function
    if function is None or stage.element is None or stage.element.how != "spec" or function.where is None:
        return False
    plain = not any(name.startswith(_NOT_VECTORISED) for name in function.operations)
    return plain and _operations(stage) <= _MOST_OPERATIONS and stage.element.bytes <= _SMALL_BYTES
