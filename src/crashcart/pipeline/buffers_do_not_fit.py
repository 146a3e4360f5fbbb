"""P101: the pipeline holds more memory than there is."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.pipeline._tell import tried
from crashcart.rule import Rank, rule
from crashcart.stages import BUILT, Held, PipelineMemory
from crashcart.units import duration, size


@rule("P101", "buffers-do-not-fit", Rank.ROOT)
def buffers_do_not_fit(pipeline: PipelineMemory) -> Iterator[Finding]:
    """The pipeline's buffers take more memory than there is.

    ## What it means

    Buffers fill in the background while the program waits for its first batch or trains. Once the memory is used up,
    the kernel kills the process; no exception is raised.

    ## How we know

    Each stage's count of elements times the bytes of an element, by its shapes or by real elements, with calls in
    flight, copies and what the heap keeps. It is said to be killed where four fifths of that are more than there is: so
    much the figure may be above the truth. Where only the worst case is above what there is, the finding is a risk. A buffer
    over a dataset whose length is not known (a generator, what a filter leaves) may never be filled: then it may be killed.

    ## What to do

    Take one of the changes, each of which was estimated in the same way on the changed pipeline.
    """
    there = pipeline.available_bytes
    if pipeline.died is not None:
        yield _element_alone(pipeline.died)
        return
    if there is None or pipeline.fits:
        return
    sure, near = pipeline.fits is False, pipeline.held_bytes > there
    if not near and pipeline.high_bytes <= there:
        return
    yield Finding(
        Cause.PIPELINE_MEMORY,
        f"the pipeline {'holds' if sure else 'may hold'} more than there is{_when(pipeline) if sure else ''}",
        tuple(_because(pipeline, there)),
        (*_said_of_unsure(pipeline), *tried(pipeline)) or (_less_of(pipeline.largest),),
        Confidence.LIKELY if sure else Confidence.POSSIBLE,
        level=Level.PROBLEM if near else Level.RISK,
    )


def _element_alone(doing: str) -> Finding:
    return Finding(
        Cause.PIPELINE_MEMORY,
        "one element alone takes more memory than there is",
        (f"a child process that looked at one element at a time, without buffers, was ended for memory while {doing}",),
        ("make elements smaller at the source: fewer rows for a generator's array, smaller windows, smaller batches",),
        Confidence.CERTAIN,
    )


def _when(pipeline: PipelineMemory) -> str:
    row = pipeline.largest
    if pipeline.fill_s is None or row is None or row.kind not in ("buffer", "cache"):
        return ""
    return f": it will be killed while {row.label} fills, in about {duration(max(1.0, pipeline.fill_s))}"


def _said_of_unsure(pipeline: PipelineMemory) -> Iterator[str]:
    """What would settle it, where the largest stage may never hold as much."""
    row = pipeline.largest
    if row is None or row.low_bytes is None:
        return
    if row.name == "unique":
        yield "where few elements differ, say how many: .unique().apply(tf.data.experimental.assert_cardinality(n))"
        yield "where most do: leave the doubles out once, when the files are written"
    elif pipeline.room_for is not None:
        yield (
            f"where there are fewer elements than {row.label} has room for, say how many, before it: "
            ".apply(tf.data.experimental.assert_cardinality(n))"
        )


_LESS = {
    "shuffle": "a smaller buffer than {}",
    "prefetch": "fewer elements than {}",
    "cache": 'cache("/path/on/disk") in place of {}',
    "batch": "smaller batches than {}",
    "calls": "fewer parallel calls in {}, or smaller elements before it",
    "state": "a smaller state in {}",
    "built": "read from files in the pipeline: TFRecord files, or np.memmap in a generator",
    "constants": "tf.Variable(array, trainable=False) outside of the function, which then does not have the array in its graph",
    "tensors": "smaller files, or files that are read in parts, such as TFRecord: {} are whole ones",
}


def _less_of(row: Held | None) -> str:
    """What to make smaller where no change of a buffer was found: the stage that holds most."""
    if row is None:
        return "smaller elements, at the source"
    words = _LESS.get(row.name) or _LESS.get(row.kind)
    return words.format(row.label) if words else f"smaller elements before {row.label}"


def _because(pipeline: PipelineMemory, there: int) -> Iterator[str]:
    yield (
        f"it holds {size(pipeline.held_bytes)} once its buffers are full ({size(pipeline.high_bytes)} at worst), "
        f"and {size(there)} is there for it ({pipeline.available_in})"
    )
    if pipeline.built_bytes and pipeline.built_bytes > 0.05 * pipeline.held_bytes:
        yield f"{size(pipeline.built_bytes)} of it is taken before the first element: arrays, and tensors made of them"
    for row in sorted(pipeline.rows, key=lambda each: -each.bytes)[:3]:
        if row.name != BUILT and row.bytes > 0.05 * pipeline.held_bytes:
            made = f": {row.count} × {size(row.element_bytes)}" if row.count and row.element_bytes else ""
            unsure = ", if all of them differ" if row.name == "unique" else ""
            yield f"{row.label} holds {size(row.bytes)}{made}{unsure}"
    if pipeline.room_for is not None:
        yield f"nobody knows how many elements there are; there is room for about {pipeline.room_for}"
