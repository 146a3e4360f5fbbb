"""P102: the shuffle buffer has elements that a map made large."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.pipeline._tell import first
from crashcart.pipeline.change import shuffle_moved
from crashcart.rule import Rank, rule
from crashcart.stages import PipelineMemory
from crashcart.units import size

_LARGE_SHARE = 0.3
_LEAST_BYTES = 64 << 20


@rule("P102", "large-elements-shuffled", Rank.ROOT)
def large_elements_shuffled(pipeline: PipelineMemory) -> Iterator[Finding]:
    """The shuffle buffer holds elements that a map before it made large.

    ## What it means

    `shuffle(n)` holds n elements of what comes before it. File names or encoded images are a hundred times smaller than
    what decoding makes of them, and shuffling them first gives the same order of examples.

    ## How we know

    The pipeline with the shuffle moved below the map was estimated in the same way, and holds much less.

    ## What to do

    Put `shuffle` before the `map` that decodes.
    """
    found = first(shuffle_moved(pipeline), pipeline)
    row = max((each for each in pipeline.rows if each.name == "shuffle"), key=lambda each: each.bytes, default=None)
    if not found or row is None or row.bytes < max(_LEAST_BYTES, _LARGE_SHARE * pipeline.held_bytes):
        return
    yield Finding(
        Cause.PIPELINE_MEMORY,
        f"{row.label} holds elements after they were made large",
        (f"it holds {size(row.bytes)}: {row.count} elements of {size(row.element_bytes or 0)}",),
        tuple(found),
        Confidence.CERTAIN,
        level=Level.RISK,
    )
