"""What to change in a line that asked for too much memory, from what the line itself says.

Covers: the constructs that most often make a second copy or hold everything at once.
Does not cover: whether memory was the cause; the rules decide that first. No rule is declared here.
"""

from __future__ import annotations

import re

from crashcart.finding import Where
from crashcart.units import GIB, size

_BY_CONSTRUCT: tuple[tuple[str, str], ...] = (
    (
        r"\.astype\(",
        "`astype` makes a second array beside the first: create the data in the final type, or convert in slices",
    ),
    (
        r"one_hot|to_categorical|get_dummies",
        "keep integer labels: `sparse_categorical_crossentropy` needs no one-hot copy",
    ),
    (
        r"concatenate|[vh]?stack\(|np\.append|pd\.concat|tf\.concat",
        "joining holds all parts and the result at once: allocate the result once and fill it in slices, or keep it on disk "
        "with `np.lib.format.open_memmap`",
    ),
    (
        r"\.merge\(|\.join\(",
        "a join multiplies rows where keys repeat: check `df.duplicated(keys).sum()` on both sides first",
    ),
    (
        r"read_csv|read_parquet|read_excel|read_json",
        "read in parts (`chunksize=`), only the columns needed (`usecols=`), with narrow dtypes",
    ),
    (
        r"json\.loads?\(|pickle\.loads?\(",
        "parsing holds the text and the objects at once: stream it record by record instead",
    ),
    (
        r"\.readlines\(\)|\.read\(\)|read_bytes\(\)|read_text\(\)",
        "iterate over the file, or map it (`np.memmap`), instead of reading it whole",
    ),
    (
        r"from_tensor_slices",
        "`from_tensor_slices` copies the arrays into the graph: feed a generator or TFRecord files instead",
    ),
    (
        r"\.predict\(|\.evaluate\(",
        "pass a tf.data dataset or call it in slices; all outputs together are held until the end",
    ),
    (
        r"\.fit\(|train_step|train_on_batch|GradientTape|\.gradient\(",
        "halve the batch size: activations of the whole batch are held until the gradients are done",
    ),
    (
        r"matmul|tensordot|einsum|np\.dot|cdist|outer\(",
        "compute the product in blocks of rows, so that only one block's result is held",
    ),
    (
        r"random\.(?:rand|randn|normal|uniform|random)|np\.(?:zeros|ones|full|empty|arange)|tf\.(?:zeros|ones|random|fill)",
        "float64 is NumPy's default: `dtype=np.float32` halves it; or work on slices (`np.memmap` keeps the whole on disk)",
    ),
)


def for_line(where: Where | None) -> tuple[str, ...]:
    """Advice that fits the construct on the line; the first that fits is the most specific one."""
    source = where.source if where is not None else None
    if not source:
        return ()
    return tuple(advice for pattern, advice in _BY_CONSTRUCT if re.search(pattern, source))[:2]


def for_limit(peak_bytes: int | None, limit_bytes: int | None, kind: str) -> tuple[str, ...]:
    """How large the limit would have to be, where the need is known at least from below."""
    if peak_bytes is None or limit_bytes is None:
        return ()
    wanted = size(-(-int(max(peak_bytes, limit_bytes) * 1.5) // GIB) * GIB)
    if kind == "container":
        needed = size(max(peak_bytes, limit_bytes))
        how = "docker run --memory, resources.limits.memory, --mem"
        return (f"give it more: it needs over {needed}; try a limit of {wanted} ({how})",)
    return (f"run it where more memory is free: it needs over {size(peak_bytes)}",)
