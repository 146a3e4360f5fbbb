"""The stages of a dataset, guarded: where one fails, its input is looked at again, and Python is told.

Covers: runs of maps, and batches of elements whose shapes are open. Does not cover: naming the element
(`faults_find`), counting (`faults_state`).

How: the input of a run of maps is cut into windows of some elements. A window that gives as many results as it has
elements is done: that costs one small dataset for each window, and nothing for each element. Only a window that gives
fewer goes on to its second half, where each of its elements is tried again in Python, and whoever fails is named.
Errors of what is before the maps pass by unharmed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from crashcart.pipeline.bounded_functions import is_generator, is_stateless
from crashcart.pipeline.bounded_stages import cores
from crashcart.pipeline.faults_find import Group, retried, retried_batch
from crashcart.pipeline.faults_state import Faults
from crashcart.probe.tensorflow_dataset_rebuild import can_rebuild, kind, number, rebuilt

WINDOW = 32
"""Elements of a window for each parallel call: calls are idle at its two ends, for 1/32 of the time, and a window costs as
much as two or three elements. A fault is told so many elements late."""
WINDOW_BYTES = 32 << 20
"""The inputs of a window are held while it lasts."""
_MAPS = ("_MapDataset", "_ParallelMapDataset")
_MAKERS = ("_InterleaveDataset", "_ParallelInterleaveDataset", "_FlatMapDataset")
_BATCHES = ("_BatchDataset", "_ParallelBatchDataset")


def guarded(dataset: Any, faults: Faults, context: tuple[Any, ...] = ()) -> Any:
    """The same dataset with its maps and batches guarded. `context`: strings of the element that an inner one is made from."""
    done: dict[int, tuple[Any, Any]] = {}

    def guard(stage: Any) -> Any:
        if id(stage) not in done:
            done[id(stage)] = (stage, made(stage))
        return done[id(stage)][1]

    def made(stage: Any) -> Any:
        if kind(stage) in _MAPS:
            run = [stage]
            while kind(run[0]._input_dataset) in _MAPS:
                run.insert(0, run[0]._input_dataset)
            return _maps(run, guard(run[0]._input_dataset), faults, context)
        if not can_rebuild(stage):
            return stage
        before = list(stage._inputs())
        new = [guard(each) for each in before]
        if kind(stage) in _BATCHES and _may_differ(before[0].element_spec) and not (faults.skips and _drops(stage)):
            return _batch(stage, new[0], faults, context)
        if kind(stage) in _MAKERS and not is_generator(stage):
            return _maker(stage, new[0], faults, context)
        return stage if all(a is b for a, b in zip(before, new, strict=True)) else rebuilt(stage, new)

    return guard(dataset)


def _may_differ(spec: Any) -> bool:
    """Whether elements may have different shapes, so that no batch can be made of them."""
    import tensorflow as tf

    return _plain(spec) and not all(each.shape.is_fully_defined() for each in tf.nest.flatten(spec))


def _drops(stage: Any) -> bool:
    """Whether every batch is full: none can be shorter by an element that is left out, so its errors stay as they are."""
    import tensorflow as tf

    return bool(tf.get_static_value(stage._drop_remainder))


def _plain(spec: Any) -> bool:
    import tensorflow as tf

    return all(isinstance(each, tf.TensorSpec) and each.dtype != tf.variant for each in tf.nest.flatten(spec))


def _maps(run: list[Any], source: Any, faults: Faults, context: tuple[Any, ...]) -> Any:
    """A run of maps over windows of its input."""
    import tensorflow as tf

    plain = _plain(source.element_spec)
    size = _window_size(source.element_spec, max(_calls(each) or 1 for each in run)) if plain else 1
    group = Group(run, source, faults, size)

    def inner(place: Any, window: Any) -> Any:
        elements = _elements(window) if plain else tf.data.Dataset.from_tensors(window)
        count = elements.cardinality()
        good = elements
        for stage in run:
            good = good.map(_called(stage), num_parallel_calls=_calls(stage), deterministic=_kept_order(stage))

        def tried_again(_: Any) -> Any:
            numbered = elements.enumerate(place * size)
            bad = numbered.filter(lambda index, element: _told(group, index, count, element, context))
            bad = bad.map(_second)
            for stage in run:
                bad = bad.map(_called(stage))
            return bad

        return _or_else(good, tried_again).take(count)

    pieces = source.window(size) if plain else source
    return _as(pieces.enumerate().flat_map(inner), run[-1].element_spec)


def _or_else(good: Any, otherwise: Callable[[Any], Any]) -> Any:
    """What can be had of a dataset, and then another one, which is not built before it is asked for."""
    import tensorflow as tf

    return good.ignore_errors().concatenate(tf.data.Dataset.from_tensors(0).flat_map(otherwise))


def _second(_: Any, element: Any) -> Any:
    return element


def _elements(window: Any) -> Any:
    """The elements of a window, which comes as a dataset for each component."""
    import tensorflow as tf

    return window if isinstance(window, tf.data.Dataset) else tf.data.Dataset.zip(window)


def _window_size(spec: Any, calls: int) -> int:
    """Fewer elements where they are large; an open dimension counts as 64 (it is mostly that of a batch), a string as 64 KiB."""
    import tensorflow as tf

    total = 1
    for each in tf.nest.flatten(spec):
        sides = [side or 64 for side in (each.shape.as_list() if each.shape.rank is not None else [64, 64])]
        count = 1
        for side in sides:
            count *= side
        total += count * ((64 << 10) if each.dtype == tf.string else each.dtype.size)
    return max(1, min(WINDOW * calls, WINDOW_BYTES // total))


def _calls(stage: Any) -> int | None:
    """As it was asked for; TensorFlow makes a map without state parallel by itself, but not inside a function."""
    if kind(stage) == "_ParallelMapDataset":
        asked = number(stage._num_parallel_calls)
        return cores() if asked is None or asked < 0 else asked
    return cores() if is_stateless(stage._map_func) and not stage._force_synchronous else None


def _kept_order(stage: Any) -> bool | None:
    if _calls(stage) is None:
        return None
    return {"true": True, "false": False}.get(getattr(stage, "_deterministic", "true"))


def _called(stage: Any) -> Callable[..., Any]:
    """The traced function of a map."""
    wrapper = stage._map_func

    def call(*given: Any) -> Any:
        from tensorflow.python.data.util import structure

        element = given if len(given) > 1 or _unpacked(wrapper) else given[0]
        out = wrapper.function(*structure.to_tensor_list(wrapper._input_structure, element))
        return structure.from_compatible_tensor_list(wrapper._output_structure, out)

    return call


def _unpacked(wrapper: Any) -> bool:
    return isinstance(wrapper._input_structure, tuple) and not hasattr(wrapper._input_structure, "_fields")


def _told(group: Group, index: Any, count: Any, element: Any, context: tuple[Any, ...]) -> Any:
    """In the graph: the Python that tries one element again. It keeps none: False."""
    import tensorflow as tf
    from tensorflow.python.data.util import structure

    flat = structure.to_tensor_list(group.source.element_spec, element)

    def tried(*values: Any) -> bool:
        given = list(values[2:])
        return retried(group, int(values[0]), int(values[1]), given[: len(flat)], given[len(flat) :])

    return tf.py_function(tried, [index, count, *flat, *context], tf.bool)


def _as(dataset: Any, spec: Any) -> Any:
    """The dataset with the types that the user's own has."""
    from tensorflow.python.data.ops import dataset_ops

    return dataset if dataset.element_spec == spec else dataset_ops._RestructuredDataset(dataset, spec)


def _maker(stage: Any, source: Any, faults: Faults, context: tuple[Any, ...]) -> Any:
    """A stage whose function makes datasets: these are guarded inside it, and know what they are made from."""
    import tensorflow as tf

    plain = stage._map_func._func

    def opened(*element: Any) -> Any:
        strings = [each for each in tf.nest.flatten(element) if isinstance(each, tf.Tensor) and each.dtype == tf.string]
        scalars = tuple(each for each in strings if each.shape.rank == 0)
        return guarded(plain(*element), faults, (*context, *scalars))

    if kind(stage) == "_FlatMapDataset":
        return source.flat_map(opened)
    from crashcart.probe.tensorflow_dataset_rebuild import deterministic_of

    calls = getattr(stage, "_num_parallel_calls", None)
    kept = None if calls is None else {"true": True, "false": False}.get(deterministic_of(stage))
    return source.interleave(
        opened,
        cycle_length=number(stage._cycle_length),
        block_length=number(stage._block_length),
        num_parallel_calls=None if calls is None else number(calls),
        deterministic=kept,
    )


def _batch(stage: Any, source: Any, faults: Faults, context: tuple[Any, ...]) -> Any:
    """A batch of elements whose shapes may differ, over windows of its own size."""
    import tensorflow as tf

    group = Group([stage], source, faults)
    size = number(stage._batch_size) or 1

    def fits(index: Any, element: Any) -> Any:
        flat = tf.nest.flatten(element)

        def tried(*values: Any) -> bool:
            return retried_batch(
                group, int(values[0]), size, list(values[1 : 1 + len(flat)]), list(values[1 + len(flat) :])
            )

        return tf.py_function(tried, [index, *flat, *context], tf.bool)

    def inner(place: Any, window: Any) -> Any:
        elements = _elements(window)

        def tried_again(_: Any) -> Any:
            return elements.enumerate(place * size).filter(fits).map(_second).batch(size)

        return _or_else(elements.batch(size), tried_again).take(1)

    windows = source.window(size, drop_remainder=_drops(stage)).enumerate()
    return _as(windows.flat_map(inner), stage.element_spec)
