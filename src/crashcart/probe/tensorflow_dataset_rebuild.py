"""A dataset taken apart and put together again: the same operations over other inputs, or with other buffers.

Covers: every transformation of `tf.data` that has an entry below, with the functions that were traced for it (they
are not traced again: what they captured, such as tables, variables and Python functions, stays the very same). Does
not cover: what is inside the functions (`pipeline/bounded_inner.py`), operations without an entry: those are left whole,
with all that is before them.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crashcart.probe.tensorflow_dataset_spec import tensor_bytes

AUTOTUNE = -1


@dataclass(frozen=True, slots=True)
class Operation:
    """How a class of datasets calls its operation: which of its attributes go where."""

    name: str
    takes: Mapping[str, str] = field(default_factory=dict)
    """argument of the operation -> attribute of the dataset"""
    functions: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """argument -> attribute that holds the traced function, and the argument for what it captured"""
    constants: Mapping[str, Any] = field(default_factory=dict)
    input: str = "input_dataset"
    metadata: bool = True


_MAPPED = {"f": ("_map_func", "other_arguments")}
_CALLS = {"num_parallel_calls": "_num_parallel_calls", "deterministic": "_deterministic"}
_INTER = {"use_inter_op_parallelism": "_use_inter_op_parallelism", "preserve_cardinality": "_preserve_cardinality"}
_CYCLE = {"cycle_length": "_cycle_length", "block_length": "_block_length"}
_AHEAD = {
    "buffer_output_elements": "_buffer_output_elements",
    "prefetch_input_elements": "_prefetch_input_elements",
}
_BATCH = {"batch_size": "_batch_size", "drop_remainder": "_drop_remainder"}
_PARSED = (
    *("dense_defaults", "sparse_keys", "dense_keys", "sparse_types", "dense_shapes"),
    *("ragged_keys", "ragged_value_types", "ragged_split_types"),
)

OPERATIONS: Mapping[str, Operation] = {
    "_ShuffleDataset": Operation(
        "ShuffleDatasetV3",
        {
            "buffer_size": "_buffer_size",
            "seed": "_seed",
            "seed2": "_seed2",
            "reshuffle_each_iteration": "_reshuffle_each_iteration",
        },
        constants={"seed_generator": "DummySeedGenerator"},
    ),
    "_PrefetchDataset": Operation("PrefetchDataset", {"buffer_size": "_buffer_size"}),
    "_MapDataset": Operation("MapDataset", {**_INTER, "force_synchronous": "_force_synchronous"}, _MAPPED),
    "_ParallelMapDataset": Operation(
        "ParallelMapDatasetV2",
        {**_CALLS, **_INTER, "use_unbounded_threadpool": "_use_unbounded_threadpool"},
        _MAPPED,
    ),
    "_FilterDataset": Operation("FilterDataset", {}, {"predicate": ("_predicate", "other_arguments")}),
    "_BatchDataset": Operation("BatchDatasetV2", _BATCH),
    "_ParallelBatchDataset": Operation("ParallelBatchDataset", {**_BATCH, **_CALLS}),
    "_FlatMapDataset": Operation("FlatMapDataset", {}, _MAPPED),
    "_InterleaveDataset": Operation("InterleaveDataset", _CYCLE, _MAPPED),
    "_ParallelInterleaveDataset": Operation(
        "ParallelInterleaveDatasetV4",
        {**_CYCLE, **_AHEAD, "num_parallel_calls": "_num_parallel_calls"},
        _MAPPED,
    ),
    "ParallelInterleaveDataset": Operation(
        "LegacyParallelInterleaveDatasetV2", {**_CYCLE, **_AHEAD, "deterministic": "_deterministic"}, _MAPPED
    ),
    "CacheDataset": Operation("CacheDatasetV2", {"filename": "_filename"}, constants={"cache": "DummyMemoryCache"}),
    "_RepeatDataset": Operation("RepeatDataset", {"count": "_count"}),
    "_TakeDataset": Operation("TakeDataset", {"count": "_count"}),
    "_SkipDataset": Operation("SkipDataset", {"count": "_count"}),
    "_ShardDataset": Operation("ShardDataset", {"num_shards": "_num_shards", "index": "_index"}),
    "_WindowDataset": Operation(
        "WindowDataset",
        {"size": "_size", "shift": "_shift", "stride": "_stride", "drop_remainder": "_drop_remainder"},
    ),
    "_UnbatchDataset": Operation("UnbatchDataset"),
    "_UniqueDataset": Operation("UniqueDataset"),
    "_IgnoreErrorsDataset": Operation("IgnoreErrorsDataset", metadata=False),
    "_TakeWhileDataset": Operation("TakeWhileDataset", {}, {"predicate": ("_predicate", "other_arguments")}),
    "_AssertCardinalityDataset": Operation(
        "AssertCardinalityDataset", {"cardinality": "_expected_cardinality"}, metadata=False
    ),
    "_GroupByWindowDataset": Operation(
        "GroupByWindowDataset",
        {},
        {
            "key_func": ("_key_func", "key_func_other_arguments"),
            "reduce_func": ("_reduce_func", "reduce_func_other_arguments"),
            "window_size_func": ("_window_size_func", "window_size_func_other_arguments"),
        },
    ),
    "_RebatchDataset": Operation(
        "RebatchDatasetV2", {"batch_sizes": "_batch_sizes", "drop_remainder": "_drop_remainder"}, metadata=False
    ),
    "_ParseExampleDataset": Operation(
        "ParseExampleDatasetV2",
        {name: f"_{name}" for name in (*_PARSED, "num_parallel_calls", "deterministic")},
        metadata=False,
    ),
    "_SnapshotDataset": Operation(
        "SnapshotDatasetV2",
        {"path": "_path", "compression": "_compression"},
        {
            "reader_func": ("_reader_func", "reader_func_other_args"),
            "shard_func": ("_shard_func", "shard_func_other_args"),
        },
    ),
}
"""Those with one input whose arguments are attributes; `_special` has the others."""


def inputs(stage: Any) -> list[Any]:
    """The datasets that a dataset reads, as its last stage calls them; none of one that cannot be put together again."""
    stage = unwrapped(stage)
    return list(stage._inputs()) if can_rebuild(stage) else []


def unwrapped(stage: Any) -> Any:
    """The dataset that does the work: TFRecordDataset and datasets of version 1 only hold another."""
    while True:
        inner = getattr(stage, "_dataset", None) if hasattr(stage, "_as_variant_tensor") else None
        if type(stage).__name__ == "TFRecordDatasetV2":
            inner = stage._impl
        if inner is None or not hasattr(inner, "element_spec"):
            return stage
        stage = inner


def kind(stage: Any) -> str:
    """The class of a dataset, as the tables here name it."""
    return type(stage).__name__


def can_rebuild(stage: Any) -> bool:
    """Whether the same operation can be applied to other inputs."""
    return kind(stage) in OPERATIONS or kind(stage) in _SPECIAL


def is_symbolic(stage: Any) -> bool:
    """Whether a dataset is part of a graph, and cannot be read here."""
    return not hasattr(stage._variant_tensor, "numpy")


def number(value: Any) -> int | None:
    """The value of a scalar that was made when the dataset was; None for one that a graph computes."""
    from tensorflow import get_static_value

    known = get_static_value(value) if hasattr(value, "dtype") else value
    return None if known is None else int(known)


def rebuilt(stage: Any, new_inputs: Sequence[Any], changed: Mapping[str, Any] | None = None) -> Any:
    """The same stage over other inputs, with some attributes changed; what it was made from stays as it is."""
    stage = unwrapped(stage)
    made = _copied(stage)
    special = _SPECIAL.get(kind(stage))
    if special is not None:
        return special(made, list(new_inputs))
    for name, value in (changed or {}).items():
        setattr(made, name, _like(value, getattr(stage, name)))
    (made._input_dataset,) = new_inputs
    variant = _called(made, OPERATIONS[kind(stage)], new_inputs[0])
    return _settled(made, variant, new_inputs)


def made_from(stage: Any) -> Any:
    """The dataset that a rebuilt one stands for; any other is its own."""
    return getattr(stage, "_crashcart_made_from", stage)


def _copied(stage: Any) -> Any:
    made = copy.copy(stage)
    made._crashcart_made_from = made_from(stage)
    return made


def _like(value: Any, old: Any) -> Any:
    import tensorflow as tf

    return tf.constant(value, old.dtype) if isinstance(old, tf.Tensor) else value


def _called(made: Any, operation: Operation, source: Any) -> Any:
    import tensorflow as tf

    given: dict[str, Any] = {operation.input: source._variant_tensor}
    for argument, attribute in operation.takes.items():
        given[argument] = getattr(made, attribute)
    for argument, (attribute, captured) in operation.functions.items():
        function = getattr(made, attribute).function
        given[argument] = function
        given[captured] = function.captured_inputs
    for argument, maker in operation.constants.items():
        given[argument] = getattr(tf.raw_ops, maker)()
    if given.get("compression", "") is None:
        given["compression"] = ""
    if operation.name == "ParallelInterleaveDatasetV4":
        given["deterministic"] = deterministic_of(made)
    return getattr(tf.raw_ops, operation.name)(**given, **_common(made, operation.metadata))


def as_parallel_map(stage: Any, source: Any, calls: int) -> Any:
    """A map as one with so many calls at once, in the same order."""
    import tensorflow as tf

    kind_of_parallel = type(tf.data.Dataset.range(1).map(lambda each: each, num_parallel_calls=1))
    made = _copied(stage)
    made.__class__ = kind_of_parallel
    made._num_parallel_calls = tf.constant(calls, tf.int64)
    made._deterministic = "true"
    made._use_unbounded_threadpool = False
    made._input_dataset = source
    return _settled(made, _called(made, OPERATIONS["_ParallelMapDataset"], source), [source])


def deterministic_of(interleave: Any) -> str:
    """What `deterministic` was at a parallel interleave: its class does not keep it, its graph does.

    Where the graph cannot be had, the order is kept: that is always one of the orders that were allowed.
    """
    import tensorflow as tf

    kept = getattr(interleave, "_crashcart_deterministic", None)
    if kept is not None:
        return str(kept)
    found = "true"
    if constant_bytes(interleave) <= _SERIALIZED_BYTES:
        try:
            text = tf.raw_ops.DatasetToGraphV2(input_dataset=interleave._variant_tensor, external_state_policy=1)
            nodes = tf.compat.v1.GraphDef.FromString(text.numpy()).node
            asked = [each.attr["deterministic"].s for each in nodes if each.op == "ParallelInterleaveDatasetV4"]
            found = asked[-1].decode() if asked else found  # nodes are written in order: the last is the dataset's own
        except (tf.errors.OpError, AttributeError):
            pass
    interleave._crashcart_deterministic = found
    return found


_SERIALIZED_BYTES = 64 << 20
"""The graph of a dataset holds its constants; more than this is not copied to look one attribute up."""


def constant_bytes(dataset: Any) -> int:
    """What the sources of a dataset hold in tensors, and what its functions captured; each tensor once."""
    import tensorflow as tf

    seen: dict[int, Any] = {}
    tensors: dict[int, int] = {}
    todo = [dataset]
    while todo:
        stage = unwrapped(todo.pop())
        if id(stage) in seen:
            continue
        seen[id(stage)] = stage
        todo += list(stage._inputs())
        held = list(getattr(stage, "_tensors", None) or [])
        for wrapper in stage._functions():
            held += list(wrapper.function.captured_inputs)
        for each in held:
            if isinstance(each, tf.Tensor) and each.dtype not in (tf.resource, tf.variant):
                tensors[id(each)] = tensor_bytes(each)
    return sum(tensors.values())


def _common(made: Any, metadata: bool = True) -> dict[str, Any]:
    given = {"output_types": made._flat_types, "output_shapes": made._flat_shapes}
    return {**given, "metadata": made._metadata.SerializeToString()} if metadata else given


def _settled(made: Any, variant: Any, new_inputs: Sequence[Any]) -> Any:
    """The copy as a dataset of its own: its variant, and the options that come with its inputs."""
    import tensorflow as tf

    made._variant_tensor_attr = variant
    options = tf.data.Options()
    for each in new_inputs:
        options = options.merge(each._options_attr)
    options._set_mutable(False)
    made._options_attr = options
    return made


def _zip(made: Any, new: list[Any]) -> Any:
    import tensorflow as tf

    made._datasets = tf.nest.pack_sequence_as(made._datasets, new)
    variant = tf.raw_ops.ZipDataset(input_datasets=[each._variant_tensor for each in new], **_common(made))
    return _settled(made, variant, new)


def _concatenate(made: Any, new: list[Any]) -> Any:
    import tensorflow as tf

    made._input_dataset, made._dataset_to_concatenate = new
    made._input_datasets = new
    variant = tf.raw_ops.ConcatenateDataset(
        input_dataset=new[0]._variant_tensor, another_dataset=new[1]._variant_tensor, **_common(made)
    )
    return _settled(made, variant, new)


def _directed(made: Any, new: list[Any]) -> Any:
    import tensorflow as tf

    made._selector_input, made._data_inputs = new[0], new[1:]
    variant = tf.raw_ops.DirectedInterleaveDataset(
        selector_input_dataset=new[0]._variant_tensor,
        data_input_datasets=[each._variant_tensor for each in new[1:]],
        stop_on_empty_dataset=made._stop_on_empty_dataset,
        **_common(made, metadata=False),
    )
    return _settled(made, variant, new)


def _padded(made: Any, new: list[Any]) -> Any:
    import tensorflow as tf

    (made._input_dataset,) = new
    variant = tf.raw_ops.PaddedBatchDatasetV2(
        input_dataset=new[0]._variant_tensor,
        batch_size=made._batch_size,
        padded_shapes=[tf.convert_to_tensor(each, tf.int64) for each in tf.nest.flatten(made._padded_shapes)],
        padding_values=tf.nest.flatten(made._padding_values),
        drop_remainder=made._drop_remainder,
        output_shapes=made._flat_shapes,
        metadata=made._metadata.SerializeToString(),
    )
    return _settled(made, variant, new)


def _options(made: Any, new: list[Any]) -> Any:
    """Options are the whole of what is set so far: set again, they say the same."""
    return new[0].with_options(made.options())


def _restructured(made: Any, new: list[Any]) -> Any:
    (made._input_dataset,) = new
    return _settled(made, new[0]._variant_tensor, new)


def _scan(made: Any, new: list[Any]) -> Any:
    import tensorflow as tf

    (made._input_dataset,) = new
    function = made._scan_func.function
    variant = tf.raw_ops.ScanDataset(
        input_dataset=new[0]._variant_tensor,
        initial_state=tf.nest.flatten(made._initial_state, expand_composites=True),
        other_arguments=function.captured_inputs,
        f=function,
        preserve_cardinality=True,
        **_common(made),
    )
    return _settled(made, variant, new)


def _ragged(made: Any, new: list[Any]) -> Any:
    """ragged_batch: a map of TensorFlow's own packs the elements first."""
    (made._input_dataset,) = new
    made._mapped_dataset = rebuilt(made._mapped_dataset, new)
    return _settled(made, made._mapped_dataset._variant_tensor, new)


def _sparse_batch(made: Any, new: list[Any]) -> Any:
    (source,) = new
    return source.sparse_batch(made._batch_size, made._row_shape, made._name)


_SPECIAL = {
    "_ZipDataset": _zip,
    "_ConcatenateDataset": _concatenate,
    "_DirectedInterleaveDataset": _directed,
    "_PaddedBatchDataset": _padded,
    "_OptionsDataset": _options,
    "_RestructuredDataset": _restructured,
    "_ScanDataset": _scan,
    "_DenseToRaggedDataset": _ragged,
    "_DenseToSparseBatchDataset": _sparse_batch,
}
