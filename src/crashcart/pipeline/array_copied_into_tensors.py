"""P114: an array was turned into tensors of a dataset, beside itself."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.pipeline._tell import named, place
from crashcart.rule import Rank, rule
from crashcart.stages import PipelineMemory, Stage
from crashcart.units import GIB, size

_LEAST_BYTES = 256 << 20
_LARGE_SHARE = 0.15
_GRAPH_BYTES = 2 * GIB
_COPIES = 16
"""5 when the dataset is built (with the array itself), 11 more while the iterator is made: see `estimate_functions.py`."""


@rule("P114", "array-copied-into-tensors", Rank.ROOT)
def array_copied_into_tensors(pipeline: PipelineMemory) -> Iterator[Finding]:
    """A large array was given to from_tensor_slices or from_tensors, or is read in a function: all of them copy it.

    ## What it means

    The array itself, a tensor made of it, and a second copy until the first iterator is made were resident in tests:
    three times its size. Above 2 GiB it cannot be part of a graph: saving the dataset, or using it in a `tf.function`,
    fails.

    A NumPy array that a function of `map` reads becomes a constant of its graph. While the first iterator is made, the graph
    is written, rewritten and read again: 16 times the array was resident in tests with 20 to 100 MB.

    ## How we know

    The bytes of the tensors that the dataset holds, and of the constants in the graphs of its functions, beside the memory
    there is.

    ## What to do

    Read from files in the pipeline (TFRecord, `np.memmap` with a generator over indices), or drop the array after the
    dataset was made of it (`del x`). An array for a function: `t = tf.Variable(array, trainable=False)` outside of it, and
    `t` inside (3 times the array while it is made, then once), or `t = tf.constant(array)` (3 times).
    """
    root = pipeline.pipeline.root
    bound = max(_LEAST_BYTES, _LARGE_SHARE * (pipeline.available_bytes or 0))
    for stage in root.walk():
        inside = sum(each.constant_bytes for each in stage.functions)
        if _COPIES * inside >= bound:
            yield _inside_of_function(stage, inside)
    held = sum(stage.tensor_bytes for stage in root.walk())
    held += sum(each.captured_bytes for stage in root.walk_all() for each in stage.functions)
    if held < bound:
        return
    large = held >= _GRAPH_BYTES
    yield Finding(
        Cause.OVERSIZED_CONSTANT,
        f"the dataset holds {size(held)} of tensors, copied from arrays",
        tuple(_because(pipeline, held, large)),
        ("read from files in the pipeline: TFRecord files, or np.memmap", "or del the array once the dataset is made"),
        Confidence.LIKELY,
        level=Level.RISK,
    )


def _inside_of_function(stage: Stage, inside: int) -> Finding:
    return Finding(
        Cause.OVERSIZED_CONSTANT,
        f"{named(stage)} has {size(inside)} of arrays inside of its function",
        (f"they are constants of its graph, of which there are {_COPIES} copies while the first iterator is made: "
         f"{size(_COPIES * inside)}",),
        ("t = tf.Variable(array, trainable=False) outside of the function, and t inside: one copy, three while it is made",
         "or t = tf.constant(array) outside of the function: three copies"),
        Confidence.LIKELY,
        place(stage),
        level=Level.RISK,
    )  # fmt: skip


def _because(pipeline: PipelineMemory, held: int, large: bool) -> Iterator[str]:
    yield f"its tensors take {size(held)}"
    if pipeline.built_bytes:
        yield f"the process had grown by {size(pipeline.built_bytes)} when the dataset was built"
    if large:
        yield "above 2 GiB they cannot be part of a graph: saving the dataset or using it in a tf.function fails"
