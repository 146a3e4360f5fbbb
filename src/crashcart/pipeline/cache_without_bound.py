"""P105: a cache in memory that does not fit, or whose size nobody knows."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.pipeline import _shared as about
from crashcart.pipeline._tell import first
from crashcart.pipeline.change import cache_on_disk
from crashcart.rule import Rank, rule
from crashcart.stages import INFINITE, PipelineMemory, Stage
from crashcart.units import size


@rule("P105", "cache-without-bound", Rank.ROOT)
def cache_without_bound(pipeline: PipelineMemory) -> Iterator[Finding]:
    """A cache in memory grows without end, beyond the memory there is, or to a size that nobody knows.

    ## What it means

    `cache()` keeps all elements that come by until the end of the first epoch. Memory rises during that epoch, and the
    process is killed somewhere in it.

    ## How we know

    The number of elements below the cache times their bytes; an endless input (a `repeat()` below the cache) has no
    end. Where TensorFlow cannot tell the number (a filter, a generator, records), the finding says so.

    ## What to do

    Cache to a file, cache smaller elements, or put `repeat()` after `cache()`.
    """
    endless = list(about.endless_caches(pipeline.pipeline.root))
    for stage in pipeline.pipeline.root.walk():
        if about.in_memory(stage) and stage.input is not None:
            yield from _judged(stage.input, pipeline, any(each is stage for each in endless))


def _judged(below: Stage, memory: PipelineMemory, endless: bool) -> Iterator[Finding]:
    disk = ('cache("/path/on/disk")',) if memory.unknown else tuple(first(cache_on_disk(memory), memory))
    if endless:
        yield Finding(
            Cause.PIPELINE_MEMORY,
            "cache() keeps the elements of an endless dataset: memory rises until the process is killed",
            ("its input has no end: repeat() or an endless generator lies below the cache",),
            ("put cache() before repeat()",),
            Confidence.CERTAIN,
        )
    elif below.cardinality == INFINITE:
        return  # a take behind it asks for no more than it gives
    elif below.cardinality is None:
        each = f", {size(below.element.bytes)} each" if below.element is not None else ""
        yield Finding(
            Cause.PIPELINE_MEMORY,
            "nobody knows how much cache() will keep",
            (f"TensorFlow cannot tell how many elements {about.label(below)} gives{each}",),
            (*disk, "say the number: .apply(tf.data.experimental.assert_cardinality(n)) before cache()"),
            Confidence.POSSIBLE,
            level=Level.RISK,
        )
    else:
        yield from _too_large(below, memory, disk)


def _too_large(below: Stage, memory: PipelineMemory, disk: tuple[str, ...]) -> Iterator[Finding]:
    row = next((each for each in memory.rows if each.kind == "cache"), None)
    there = memory.available_bytes
    if row is None or there is None or row.bytes <= there:
        return
    yield Finding(
        Cause.PIPELINE_MEMORY,
        "cache() keeps more than there is memory",
        (f"{below.cardinality} elements of {size(row.element_bytes or 0)} are {size(row.bytes)}, of {size(there)}",),
        disk or ('cache("/path/on/disk")',),
        Confidence.LIKELY,
    )
