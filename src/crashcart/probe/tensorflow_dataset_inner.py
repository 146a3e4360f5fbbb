"""How large the tensors are that a dataset holds which a function opens: `flat_map(lambda f: from_tensor_slices(load(f)))`.

Covers: the function of the user is traced once more, as one that gives the bytes of those tensors, and is run on a few inputs.
Does not cover: datasets that functions inside of it open (not known), temporaries of a call (`tensorflow_dataset_measure`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crashcart.probe.tensorflow_dataset import datasets, functions, inputs
from crashcart.probe.tensorflow_dataset_spec import STRING_BYTES
from crashcart.probe.tensorflow_dataset_thin import must_fill, plainly, thin
from crashcart.stages import Stage


def opened_bytes(dataset: Any, inner: Stage, count: int) -> int | None:
    """The tensors of the largest `inner` that the function of a dataset opens for a few inputs; None where nobody can tell."""
    import tensorflow as tf

    plain = getattr(functions(dataset)[0], "_func", None)
    (source,) = inputs(dataset)
    if plain is None or must_fill(source) or inner.opens_arrays():
        return None

    def measured(*element: Any) -> Any:
        return tf.add_n([tf.zeros((), tf.int64), *_sizes(plain(*element))])

    try:
        found = [int(each) for each in plainly(thin(source, count).map(measured)).take(count)]
    except Exception:  # the user's function runs once more, and may raise anything: then nobody knows
        return None
    return max(found, default=None)


def _sizes(inner: Any) -> Iterator[Any]:
    """Bytes of each tensor of a dataset in a graph, as scalars of that graph."""
    import tensorflow as tf

    for each in datasets(inner):
        sparse = getattr(each, "_sparse_tensor", None)
        held = [*(getattr(each, "_tensors", None) or ()), *(() if sparse is None else (sparse.values, sparse.indices))]
        for tensor in held:
            if tensor.dtype == tf.string:
                yield STRING_BYTES * tf.size(tensor, tf.int64) + tf.reduce_sum(
                    tf.cast(tf.strings.length(tensor), tf.int64)
                )
            elif tensor.dtype not in (tf.variant, tf.resource):
                yield tensor.dtype.size * tf.size(tensor, tf.int64)
