"""P103: the cache has elements that a map made large."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.pipeline._tell import first
from crashcart.pipeline.change import cache_moved, cache_on_disk
from crashcart.rule import Rank, rule
from crashcart.stages import PipelineMemory
from crashcart.units import size

_LARGE_SHARE = 0.3
_LEAST_BYTES = 64 << 20


@rule("P103", "expanded-elements-cached", Rank.ROOT)
def expanded_elements_cached(pipeline: PipelineMemory) -> Iterator[Finding]:
    """The cache in memory holds elements that a map before it made large.

    ## What it means

    `cache()` keeps every element of an epoch. Before the map that makes them large it keeps the small ones.

    ## How we know

    The pipeline with the cache moved below the map was estimated in the same way.

    ## What to do

    Put `cache()` before that map, if running it in every epoch costs little; or cache to a file.
    """
    row = max((each for each in pipeline.rows if each.kind == "cache"), key=lambda each: each.bytes, default=None)
    moved = first(cache_moved(pipeline), pipeline)
    if row is None or not moved or row.bytes < max(_LEAST_BYTES, _LARGE_SHARE * pipeline.held_bytes):
        return
    yield Finding(
        Cause.PIPELINE_MEMORY,
        f"{row.label} keeps elements after they were made large",
        (f"it keeps {size(row.bytes)}: {row.count} elements of {size(row.element_bytes or 0)}",),
        (*moved, *first(cache_on_disk(pipeline), pipeline)),
        Confidence.CERTAIN,
        level=Level.RISK,
    )
