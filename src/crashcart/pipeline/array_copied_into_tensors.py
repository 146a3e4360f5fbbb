"""P114: an array was turned into tensors of a dataset, beside itself."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.rule import Rank, rule
from crashcart.stages import PipelineMemory
from crashcart.units import GIB, size

_LEAST_BYTES = 256 << 20
_LARGE_SHARE = 0.15
_GRAPH_BYTES = 2 * GIB


@rule("P114", "array-copied-into-tensors", Rank.ROOT)
def array_copied_into_tensors(pipeline: PipelineMemory) -> Iterator[Finding]:
    """A large array was given to from_tensor_slices or from_tensors, which copy it.

    ## What it means

    The array itself, a tensor made of it, and a second copy until the first iterator is made were resident in tests:
    three times its size. Above 2 GiB it cannot be part of a graph: saving the dataset, or using it in a `tf.function`,
    fails.

    ## How we know

    The bytes of the tensors that the dataset holds, beside the memory there is.

    ## What to do

    Read from files in the pipeline (TFRecord, `np.memmap` with a generator over indices), or drop the array after the
    dataset was made of it (`del x`).
    """
    held = sum(stage.tensor_bytes for stage in pipeline.pipeline.root.walk_all())
    held += sum(each.captured_bytes for stage in pipeline.pipeline.root.walk_all() for each in stage.functions)
    bound = max(_LEAST_BYTES, _LARGE_SHARE * (pipeline.available_bytes or 0))
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


def _because(pipeline: PipelineMemory, held: int, large: bool) -> Iterator[str]:
    yield f"its tensors take {size(held)}"
    if pipeline.built_bytes:
        yield f"the process had grown by {size(pipeline.built_bytes)} when the dataset was built"
    if large:
        yield "above 2 GiB they cannot be part of a graph: saving the dataset or using it in a tf.function fails"
