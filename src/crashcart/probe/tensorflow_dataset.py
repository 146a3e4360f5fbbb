"""A tf.data dataset read as plain data: its stages, what they are set to, and the functions that they call.

    pipeline = read(dataset)

Covers: the chain of Python objects with their inputs; datasets that functions make (`tensorflow_dataset_graph`); options.
Does not cover: bytes of elements whose shapes are not known (`tensorflow_dataset_measure`). Nothing of the pipeline is run,
and no tensor of it is copied. Private attributes of tf.data are read here and in its sisters alone; one that is missing is
not known, and no error.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from crashcart.probe.code_place import place_of
from crashcart.probe.tensorflow_dataset_graph import Body, as_written, stage_of_body, stage_of_variant
from crashcart.probe.tensorflow_dataset_spec import element_bytes, element_of_spec, said
from crashcart.stages import INFINITE, TOGETHER, Function, Pipeline, Settings, Stage

_WRAPPED = ("_impl", "_mapped_dataset", "_dataset")
"""Where a dataset that only wraps another keeps it."""
_FUNCTIONS = ("_map_func", "_predicate", "_scan_func", "_key_func", "_reduce_func", "_window_size_func")
_ALIGNED_BYTES = 64
"""Measured with TensorFlow 2.21: rows of 10 000 000 bytes were not copied, rows of 10 000 003 bytes were."""
_REWRITES = (
    "filter_fusion", "filter_parallelization", "inject_prefetch", "map_and_batch_fusion", "map_and_filter_fusion", "map_fusion",
    "map_parallelization", "noop_elimination", "parallel_batch", "shuffle_and_repeat_fusion",
)  # fmt: skip
"""Options for each of which TensorFlow writes the graph anew."""
_SMALL_ROW_BYTES = 1024
"""Labels beside an array of images do not decide."""


def read(dataset: Any) -> Pipeline:
    """The whole pipeline of a dataset."""
    return Pipeline(read_stage(dataset), read_settings(dataset))


def read_all(datasets: list[Any]) -> Pipeline:
    """One dataset, or several whose iterators are alive at the same time, side by side."""
    if len(datasets) == 1:
        return read(datasets[0])
    settings = tuple(map(read_settings, datasets))
    return Pipeline(Stage(TOGETHER, inputs=tuple(map(read_stage, datasets))), settings[0], each_settings=settings)


def datasets(dataset: Any) -> Iterator[Any]:
    """The dataset and all that it reads, in the order of `Stage.walk`."""
    dataset = unwrapped(dataset)
    yield dataset
    for each in inputs(dataset):
        yield from datasets(each)


def inputs(dataset: Any) -> list[Any]:
    """The datasets that it reads."""
    return list(dataset._inputs()) if hasattr(dataset, "_inputs") else []


def unwrapped(dataset: Any) -> Any:
    """The dataset that does the work."""
    for _ in range(8):
        inner = next((vars(dataset)[name] for name in _WRAPPED if is_dataset(vars(dataset).get(name))), None)
        if inner is None:
            break
        dataset = inner
    return dataset


def is_dataset(value: Any) -> bool:
    """Whether it is a dataset that can be read."""
    return hasattr(value, "element_spec") and hasattr(value, "_variant_tensor")


def read_stage(dataset: Any) -> Stage:
    """One dataset with all below it."""
    dataset = unwrapped(dataset)
    numbers, words, held = _settings_of(dataset)
    spec = getattr(dataset, "element_spec", None)
    return Stage(
        name_of(dataset),
        numbers,
        words,
        tuple(read_stage(each) for each in inputs(dataset)),
        tuple(_functions(dataset)),
        element_of_spec(spec),
        _cardinality(dataset),
        held,
        spec=said(spec),
    )


def name_of(dataset: Any) -> str:
    """As people write it: `_ParallelMapDataset` is parallel_map."""
    return as_written(type(dataset).__name__)


def _functions(dataset: Any) -> Iterator[Function]:
    """What it calls; of a dataset that is only a tensor, the one inside of it, as if a function made it."""
    yield from map(_function, functions(dataset))
    if name_of(dataset) == "variant":
        inner = stage_of_variant(dataset._variant_tensor)
        yield from () if inner is None else (Function("variant", constant_bytes=_inside(inner), dataset=inner),)


def _inside(inner: Stage) -> int:
    return sum(function.constant_bytes for stage in inner.walk() for function in stage.functions)


def functions(dataset: Any) -> list[Any]:
    """The wrappers of what it calls, the one for each element first."""
    known = vars(dataset)
    found = [known[name] for name in _FUNCTIONS if hasattr(known.get(name), "function")]
    further = dataset._functions() if hasattr(dataset, "_functions") else []
    return [*found, *(each for each in further if not any(each is one for one in found))]


def _settings_of(dataset: Any) -> tuple[dict[str, int], dict[str, str], int]:
    """Numbers, words, and the bytes of the tensors that it was given."""
    numbers: dict[str, int] = {}
    words: dict[str, str] = {}
    held = 0
    for name, value in vars(dataset).items():
        plain = None if name == "_initial_state" else _plain(value)
        if isinstance(plain, (bool, int)):
            numbers[name.lstrip("_")] = int(plain)
        elif isinstance(plain, str):
            words[name.lstrip("_")] = plain
        elif name == "_tensors":
            held = sum(_tensor_bytes(each) for each in value)
            numbers["shared_rows"] = int(_shares_rows(value, name_of(dataset)))
        elif name == "_initial_state" and element_of_spec(getattr(dataset, "_state_structure", None)) is not None:
            numbers["state_bytes"] = element_bytes(value)[0]
    return numbers, words, held


def _shares_rows(tensors: Any, name: str) -> bool:
    """Whether elements are no copies: TensorFlow points into the array where each row begins at an aligned address."""
    if name == "tensors":
        return True
    rows = [_row_bytes(each) for each in tensors]
    large = [each for each in rows if each >= _SMALL_ROW_BYTES] or rows
    return all(each % _ALIGNED_BYTES == 0 for each in large)


def _row_bytes(tensor: Any) -> int:
    shape, kind = tensor.shape, tensor.dtype
    if shape.rank is None or not shape.is_fully_defined() or kind.name in ("string", "variant", "resource"):
        return 1  # never aligned
    return int(prod(shape.as_list()[1:]) * kind.size)


def _plain(value: Any) -> int | str | None:
    """A number or a short text, where it is one; a scalar tensor counts as its value."""
    if isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return value if len(value) <= 4096 else None
    if type(value).__name__ != "EagerTensor" or value.shape.rank != 0:
        return None
    if value.dtype.name == "string":
        return bytes(value.numpy()).decode("utf-8", "replace")[:4096]
    return int(value.numpy()) if value.dtype.is_integer or value.dtype.is_bool else None


def _tensor_bytes(tensor: Any) -> int:
    from crashcart.probe.tensorflow_dataset_spec import tensor_bytes

    return tensor_bytes(tensor)


def _cardinality(dataset: Any) -> int | None:
    try:
        count = int(dataset.cardinality())
    except (TypeError, ValueError, AttributeError, RuntimeError):
        return None
    return INFINITE if count == -1 else None if count < 0 else count


def _function(wrapper: Any) -> Function:
    """What a stage calls, from its traced graph."""
    traced = wrapper.function
    body = Body.of_function(traced)
    return Function(
        _function_name(wrapper, body),
        body.operations(),
        sum(_tensor_bytes(each) for each in getattr(traced, "captured_inputs", ())),
        where=place_of(getattr(wrapper, "_func", None)),
        dataset=stage_of_body(body),
        constant_bytes=body.constant_bytes(),
    )


def _function_name(wrapper: Any, body: Body) -> str:
    return getattr(getattr(wrapper, "_func", None), "__name__", None) or body.name


def read_settings(dataset: Any) -> Settings:
    """The options, with TensorFlow's own values where they say nothing."""
    options = dataset.options()
    tuning, rewriting = options.autotune, options.experimental_optimization
    quick = rewriting.apply_default_optimizations is not False
    return Settings(
        tuning.enabled is not False,
        tuning.ram_budget or None,
        tuning.cpu_budget or None,
        getattr(tuning, "initial_parallelism", None) or None,
        options.threading.private_threadpool_size or None,
        options.deterministic,
        quick if rewriting.map_parallelization is None else rewriting.map_parallelization,
        quick if rewriting.inject_prefetch is None else rewriting.inject_prefetch,
        quick or any(getattr(rewriting, each, None) for each in _REWRITES),
    )
