"""Datasets that functions make: interleave and flat_map, with buffers inside.

Covers: the function is traced once more to see what it builds, and again to build it with other counts; what it
captured stays the same, as it is the user's own Python function. Does not cover: functions inside those functions
(they are left as they are, and a note says so).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from crashcart.pipeline._shared import KEEPS_NOTHING, READERS
from crashcart.pipeline.bounded_functions import is_generator
from crashcart.pipeline.bounded_plan import Buffer, Part
from crashcart.pipeline.estimate import PROCESS_HIGH_BYTES, estimate
from crashcart.probe.tensorflow_dataset_graph import Body, stage_of_body, stage_of_variant
from crashcart.probe.tensorflow_dataset_rebuild import deterministic_of, kind, number
from crashcart.stages import NAMES, Ground, Pipeline, Settings

MAKERS = ("_InterleaveDataset", "_ParallelInterleaveDataset", "_FlatMapDataset")
_NAME = "inside "


def makes_datasets(stage: Any) -> bool:
    """Whether its function is the user's, and builds datasets."""
    return kind(stage) in MAKERS and not is_generator(stage)


def inner_dataset(stage: Any) -> Any:
    """What the function of a stage builds, as a chain in a graph; only to be looked at. None where it cannot be traced again."""
    import tensorflow as tf

    found: list[Any] = []

    def seen(*element: Any) -> Any:
        found.append(stage._map_func._func(*element))
        return found[-1]

    try:
        stage._input_dataset.flat_map(seen)
    except (TypeError, ValueError, tf.errors.OpError):
        return None
    return found[-1]


def opens_files_only(stage: Any) -> bool:
    """Whether the datasets that its function makes hold no more than an open file each, by the function's graph."""
    made = stage_of_body(Body.of_function(stage._map_func.function))
    if made is None or any(each.spec != NAMES for each in made.tensor_sources()) or made.opens_arrays():
        return False
    return all(each.name in KEEPS_NOTHING | READERS for each in made.walk_all())


def variant_bytes(stage: Any, cores: int) -> int | None:
    """What a dataset may hold that is only a tensor here, from its own graph; None where that is not known."""
    made = stage_of_variant(stage._variant_tensor)
    if made is None:
        return None
    found = estimate(Pipeline(made, Settings(inject_prefetch=False)), Ground(cores))
    return None if found.unknown else found.high_bytes - PROCESS_HIGH_BYTES


def as_inner(buffer: Buffer, outer: int, times: int) -> Buffer | None:
    """A buffer inside, as one of the stage outside: there once for each input that is open. None where nothing can be set."""
    number_inside, attribute = buffer.key
    if attribute == "consumer":
        return None
    key = (outer, f"{_NAME}{number_inside} {attribute}")
    least = 0 if buffer.part is Part.CACHE else buffer.least
    return replace(buffer, key=key, words=f"{buffer.words} inside", least=least, each_bytes=buffer.each_bytes * times)


def is_inner(buffer: Buffer) -> bool:
    """Whether it is one inside, as `as_inner` gives it."""
    return buffer.key[1].startswith(_NAME)


def inside_counts(counts: Mapping[tuple[int, str], int], outer: int) -> dict[tuple[int, str], int]:
    """Of a plan's counts, those inside a stage, with the keys that they have there."""
    found = {}
    for (stage, name), count in counts.items():
        if stage == outer and name.startswith(_NAME):
            inner, _, attribute = name.removeprefix(_NAME).partition(" ")
            found[int(inner), attribute] = count
    return found


def remade(stage: Any, source: Any, attributes: Mapping[str, int], build: Callable[[Any], Any]) -> Any:
    """The stage over another input, whose function hands what it builds to `build` first."""
    from tensorflow.python.data.ops import interleave_op

    plain = stage._map_func._func

    def opened(*element: Any) -> Any:
        return build(plain(*element))

    if kind(stage) == "_FlatMapDataset":
        return source.flat_map(opened)
    cycle, block = number(stage._cycle_length), number(stage._block_length)
    if kind(stage) == "_InterleaveDataset":
        return source.interleave(opened, cycle_length=cycle, block_length=block)
    return interleave_op._ParallelInterleaveDataset(
        source,
        opened,
        cycle_length=cycle,
        block_length=block,
        num_parallel_calls=attributes.get("_num_parallel_calls", number(stage._num_parallel_calls)),
        buffer_output_elements=attributes.get("_buffer_output_elements", number(stage._buffer_output_elements)),
        prefetch_input_elements=attributes.get("_prefetch_input_elements", number(stage._prefetch_input_elements)),
        deterministic={"true": True, "false": False}.get(deterministic_of(stage)),
    )
