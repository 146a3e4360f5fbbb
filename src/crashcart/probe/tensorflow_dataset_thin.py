"""The same elements without the buffers: a dataset rebuilt so that one of its elements can be had without filling anything.

Covers: every stage that only keeps, orders or repeats elements is left out, parallel ones are run one call after the
other; functions are called as they were traced. A sample may come from all over a source that can be entered anywhere.
Does not cover: measuring (`tensorflow_dataset_measure`). Counts and order are not those of the real dataset: a sample
of its elements is all that it is good for. A stage that cannot be rebuilt (`tensorflow_dataset_rebuild`) stands as it
is, with all below it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from crashcart.probe.tensorflow_dataset import datasets, name_of
from crashcart.probe.tensorflow_dataset_rebuild import can_rebuild, inputs, kind, number, rebuilt, unwrapped

LEFT_OUT = frozenset(
    {"shuffle", "prefetch", "cache", "snapshot", "options", "repeat", "take", "skip", "shard", "save", "ignore_errors"}
)
"""Stages that give out the elements that they get."""
_ENTERED_ANYWHERE = ("_TensorSliceDataset", "_RangeDataset")
_LARGE = ("shuffle", "cache")
_MOST_PASSED = 100_000


def thin(dataset: Any, spread: int | None = None) -> Any:
    """A dataset with like elements that holds as little as can be; `spread`: about so many, from all over its source."""
    done: dict[int, tuple[Any, Any]] = {}

    def thinner(stage: Any) -> Any:
        stage = unwrapped(stage)
        if id(stage) not in done:
            done[id(stage)] = (stage, made(stage))
        return done[id(stage)][1]

    def made(stage: Any) -> Any:
        if spread and kind(stage) in _ENTERED_ANYWHERE:
            return _spread(stage, spread)
        left_out = name_of(stage) in LEFT_OUT
        below = [thinner(each) for each in (stage._inputs() if left_out else inputs(stage))]
        if left_out and below:
            return below[0]
        if not below:
            return stage
        simpler = _SIMPLER.get(name_of(stage))
        return rebuilt(stage, below) if simpler is None else _as(simpler(stage, below), stage)

    return thinner(dataset)


def must_fill(dataset: Any) -> bool:
    """Whether even its thin form fills a buffer: below a stage that cannot be rebuilt lies one that keeps many elements."""
    return any(
        not can_rebuild(each)
        and name_of(each) not in LEFT_OUT
        and any(name_of(one) in _LARGE for one in datasets(each))
        for each in datasets(dataset)
    )


def plainly(dataset: Any) -> Any:
    """Without what TensorFlow would add by itself: prefetching, parallel calls, tuning."""
    import tensorflow as tf

    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_optimization.apply_default_optimizations = False
    return dataset.with_options(options)


def _spread(source: Any, count: int) -> Any:
    """Every n-th of its elements, so that at least so many remain. Slices that are passed over are made all the same, so there
    are not too many of these; a range is made anew."""
    import tensorflow as tf

    whole = number(source.cardinality())
    if whole is None or whole < 2 * count:
        return source
    if kind(source) != "_RangeDataset":
        return source.shard(min(whole, max(count, _MOST_PASSED)) // count, 0)
    first, end, step = (number(each) for each in (source._start, source._stop, source._step))
    if first is None or end is None or step is None:
        return source
    return tf.data.Dataset.range(first, end, step * (whole // count), output_type=source.element_spec.dtype)


def _as(made: Any, dataset: Any) -> Any:
    """With the structure of the one that it stands for."""
    from tensorflow.python.data.ops.dataset_ops import _VariantDataset

    return _VariantDataset(made, dataset.element_spec)


def _shape(dataset: Any) -> dict[str, Any]:
    return dict(dataset._flat_structure)


def _captured(wrapper: Any) -> Any:
    return wrapper.function.captured_inputs


def _map(dataset: Any, below: list[Any]) -> Any:
    import tensorflow as tf

    wrapper = dataset._map_func
    return tf.raw_ops.MapDataset(
        input_dataset=below[0]._variant_tensor,
        other_arguments=_captured(wrapper),
        f=wrapper.function,
        use_inter_op_parallelism=True,
        preserve_cardinality=True,
        **_shape(dataset),
    )


def _flat_map(dataset: Any, below: list[Any]) -> Any:
    """Interleaved ones, too: a few elements of each dataset that the function opens, one after the other."""
    import tensorflow as tf

    wrapper = dataset._map_func
    return tf.raw_ops.InterleaveDataset(
        input_dataset=below[0]._variant_tensor,
        other_arguments=_captured(wrapper),
        cycle_length=1,
        block_length=1,
        f=wrapper.function,
        **_shape(dataset),
    )


def _batch(dataset: Any, below: list[Any]) -> Any:
    import tensorflow as tf

    return tf.raw_ops.BatchDatasetV2(
        input_dataset=below[0]._variant_tensor,
        batch_size=dataset._batch_size,
        drop_remainder=dataset._drop_remainder,
        parallel_copy=False,
        **_shape(dataset),
    )


def _mixed(dataset: Any, below: list[Any]) -> Any:
    """Its choices are left out: a little of each of its inputs, one after the other."""
    import tensorflow as tf

    chosen = below[1:]
    index = tf.data.Dataset.range(len(chosen)).repeat()
    return tf.raw_ops.DirectedInterleaveDataset(
        selector_input_dataset=index._variant_tensor,
        data_input_datasets=[each._variant_tensor for each in chosen],
        **_shape(dataset),
    )


_SIMPLER: dict[str, Callable[[Any, list[Any]], Any]] = {
    "parallel_map": _map,
    "flat_map": _flat_map,
    "interleave": _flat_map,
    "parallel_interleave": _flat_map,
    "parallel_batch": _batch,
    "sample_from_datasets": _mixed,
}
"""Stages that are run one call after the other, or without their choices."""
