"""Real elements of a dataset's stages: how large they are, how fast they come, and what a call of a function takes.

    pipeline = measure(dataset, read(dataset), Bounds(...))

Covers: sizes (mean and 99th percentile) of stages whose shapes are not known, the rate of what fills a buffer, the
memory of one call at its peak, the number of elements where TensorFlow cannot tell it.
Does not cover: filling any buffer of the pipeline: it is rebuilt without them (`tensorflow_dataset_thin`). Bounded in
elements and in time between elements; one element that never comes, or eats the machine, is for the process around it
to bound.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

from crashcart.probe import tensorflow_dataset as reading
from crashcart.probe.own_memory import status_bytes
from crashcart.probe.tensorflow_dataset_count import estimated_count, format_of
from crashcart.probe.tensorflow_dataset_inner import opened_bytes
from crashcart.probe.tensorflow_dataset_spec import ELEMENT_BYTES, TENSOR_BYTES, element_bytes
from crashcart.probe.tensorflow_dataset_thin import LEFT_OUT, must_fill, plainly, thin
from crashcart.stages import INFINITE, TOGETHER, Element, Failure, Function, Pipeline, Stage

_BATCHES = frozenset({"batch", "parallel_batch", "padded_batch"})
_FILLED = frozenset({"shuffle", "cache"})
_CALLS = frozenset({"map", "parallel_map"})
_OPENERS = frozenset({"flat_map", "interleave", "parallel_interleave"})
_ENDLESS = frozenset({"filter", "flat_map", "interleave", "parallel_interleave", "unbatch", "window", "enumerate"})
"""Without an end where their input has none, though TensorFlow does not say so."""
_NODES = re.compile(r"\{\{.*?\}\}\s*|Error in user-defined function passed to .*?(root|::\w+): ", re.DOTALL)
_LEAST_SCRATCH_BYTES = 256 << 10
"""Smaller peaks drown in what the process itself does."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be looked at."""

    elements: int = 96
    stage_s: float = 4.0
    total_s: float = 40.0
    calls: int = 3
    rates: bool = True
    """Whether stages whose elements are known are looked at, too, where they fill a buffer: how fast they come."""
    scratch: bool = True
    """Whether calls of functions are measured by the memory of this process; only of use where freed blocks go back at once."""


def measure(
    dataset: Any, pipeline: Pipeline, limits: Limits | None = None, say: Callable[[str], None] | None = None
) -> Pipeline:
    """The pipeline with what could be measured filled in; what could not is in its notes."""
    work = _Work(limits or Limits(), say or (lambda _: None))
    root = work.stage(dataset, pipeline.root)
    return replace(pipeline, root=root, notes=(*pipeline.notes, *work.notes), failed=tuple(work.failed))


def measure_all(
    datasets: list[Any], pipeline: Pipeline, limits: Limits | None = None, say: Callable[[str], None] | None = None
) -> Pipeline:
    """As `measure`, for one or several that were read together."""
    if pipeline.root.name != TOGETHER:
        return measure(datasets[0], pipeline, limits, say)
    work = _Work(limits or Limits(), say or (lambda _: None))
    roots = tuple(work.stage(each, one) for each, one in zip(datasets, pipeline.root.inputs, strict=True))
    root = replace(pipeline.root, inputs=roots)
    return replace(pipeline, root=root, notes=(*pipeline.notes, *work.notes), failed=tuple(work.failed))


class _Work:
    """One measurement, with what is left of its time."""

    def __init__(self, limits: Limits, say: Callable[[str], None]) -> None:
        self._limits, self._say = limits, say
        self._until_s = time.monotonic() + limits.total_s
        self.notes: list[str] = []
        self.failed: list[Failure] = []

    def stage(self, dataset: Any, stage: Stage, filled: bool = False) -> Stage:
        """The lowest first: what is above may follow from it."""
        dataset = reading.unwrapped(dataset)
        fills = stage.name in _FILLED or (stage.name in LEFT_OUT and filled)
        pairs = zip(reading.inputs(dataset), stage.inputs, strict=False)
        stage = replace(stage, inputs=tuple(self.stage(each, one, fills) for each, one in pairs))
        stage = replace(stage, element=stage.element or derived(stage), cardinality=counted(stage))
        rated = self._limits.rates and filled and stage.name not in LEFT_OUT
        if stage.element is None or rated:
            stage = self._looked_at(dataset, stage)
        if _opens_tensors(stage):
            stage = self._opened(dataset, stage)
        elif self._limits.scratch and stage.name in _CALLS:
            stage = self._called(dataset, stage)
        return replace(stage, functions=tuple(_inside(each, stage) for each in stage.functions))

    def _looked_at(self, dataset: Any, stage: Stage) -> Stage:
        if time.monotonic() > self._until_s:
            self.notes.append(f"no time was left to look at elements of {stage.name}")
            return stage
        if must_fill(dataset):
            self.notes.append(f"{stage.name}: its elements cannot be had without filling the buffers before it")
            return stage
        self._say(f"looking at elements of {stage.name}")
        seen: list[tuple[int, int]] = []
        rate, ended = None, False
        try:
            rate, ended = self._sample(thin(dataset, self._spread(stage)), seen)
        except Exception as error:  # those that came before are still seen
            self._failed(stage, error)
            if not seen:
                return stage
        if ended and stage.cardinality is None and len(seen) < self._limits.elements and _keeps_count(stage):
            stage = replace(stage, cardinality=len(seen))
        elif stage.cardinality is None and format_of(stage) is not None:
            stage = self._counted(dataset, stage)
        return replace(stage, element=stage.element or _summed(seen), rate_per_s=rate)

    def _spread(self, stage: Stage) -> int | None:
        """How many elements of the source the sample takes from all over it; None where the sample may have to count them."""
        if stage.cardinality is None:
            return None
        sizes = (each.numbers.get("batch_size", 1) for each in stage.walk() if each.name in _BATCHES)
        return self._limits.elements * prod(max(1, each) for each in sizes)

    def _failed(self, stage: Stage, error: Exception) -> None:
        """Where it failed below already, that says it all."""
        if not self.failed:
            where = stage.function.where if stage.function is not None else None
            self.failed.append(Failure(stage.name, type(error).__name__, _first_line(error), where))

    def _counted(self, dataset: Any, stage: Stage) -> Stage:
        """Records of files, by their bytes."""
        lengths = [len(each.numpy()) for each in plainly(thin(dataset)).take(self._limits.elements)]
        count = estimated_count(stage, plainly(reading.inputs(dataset)[0]), lengths)
        if count is not None:
            self.notes.append(f"the files have about {count} records, by their bytes")
        return replace(stage, cardinality=count)

    def _sample(self, dataset: Any, seen: list[tuple[int, int]]) -> tuple[float | None, bool]:
        """Sizes and numbers of tensors into `seen`; elements in a second after the first, and whether it ended."""
        until_s = min(self._until_s, time.monotonic() + self._limits.stage_s)
        began_s = ended_s = time.monotonic()
        elements = iter(plainly(dataset))
        for element in elements:
            seen.append(element_bytes(element))
            ended_s = time.monotonic()
            if len(seen) == 1:
                began_s = ended_s
            if len(seen) >= self._limits.elements or ended_s > until_s:
                break
        else:
            return _rate(len(seen), ended_s - began_s), True
        return _rate(len(seen), ended_s - began_s), False

    def _opened(self, dataset: Any, stage: Stage) -> Stage:
        """The tensors of a dataset that the function opens, and the peak of a call besides them."""
        assert stage.function is not None and stage.function.dataset is not None
        self._say(f"opening a dataset of {stage.name}")
        late = time.monotonic() > self._until_s
        found = None if late else opened_bytes(dataset, stage.function.dataset, self._limits.calls)
        if found is None:
            self.notes.append(f"{stage.name}: the tensors of the datasets that it opens could not be measured")
            return stage
        if self._limits.scratch and found >= _LEAST_SCRATCH_BYTES:
            stage = self._called(dataset, stage)
        function = stage.functions[0]
        scratch = None if function.scratch_bytes is None else max(0, function.scratch_bytes - found)
        changed = replace(function, opened_bytes=found, scratch_bytes=scratch)
        return replace(stage, functions=(changed, *stage.functions[1:]))

    def _called(self, dataset: Any, stage: Stage) -> Stage:
        """The peak of a call besides arguments and result, by the memory of this process."""
        if time.monotonic() > self._until_s or stage.function is None:
            return stage
        try:
            peaks = list(self._peaks(dataset))
        except Exception as error:
            if not self.failed:
                self.notes.append(f"{stage.name} could not be called: {type(error).__name__}: {_first_line(error)}")
            return stage
        if not peaks:
            return stage
        most = max(peaks)
        changed = replace(stage.function, scratch_bytes=most if most >= _LEAST_SCRATCH_BYTES else 0)
        return replace(stage, functions=(changed, *stage.functions[1:]))

    def _peaks(self, dataset: Any) -> Iterator[int]:
        import tensorflow as tf
        from tensorflow.python.data.util import structure

        wrapper = reading.functions(dataset)[0]
        source = thin(reading.inputs(dataset)[0])
        spec = source.element_spec
        for index, element in enumerate(plainly(source)):
            arguments = structure.to_tensor_list(spec, element)
            before = reset_peak()
            result = wrapper.function(*arguments)
            if before is None:
                return
            held = sum(element_bytes(each)[0] - ELEMENT_BYTES for each in tf.nest.flatten(result) if tf.is_tensor(each))
            if index > 0:  # the first call loads what later ones use
                yield max(0, status_bytes("VmHWM") - before - held)
            if index >= self._limits.calls or time.monotonic() > self._until_s:
                return


def _opens_tensors(stage: Stage) -> bool:
    inner = stage.function.dataset if stage.name in _OPENERS and stage.function is not None else None
    return inner is not None and next(inner.tensor_sources(), None) is not None


def reset_peak() -> int | None:
    """Have the kernel count this process's peak from here on; what it holds now. None where it may not be asked."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return None
    return status_bytes("VmRSS")


def _rate(count: int, seconds: float) -> float | None:
    return (count - 1) / max(seconds, 1e-6) if count > 1 else None


def _summed(seen: list[tuple[int, int]]) -> Element | None:
    if not seen:
        return None
    sizes = sorted(size for size, _ in seen)
    high = sizes[min(len(sizes) - 1, int(0.99 * len(sizes)))]
    return Element(sum(sizes) // len(sizes), high, seen[0][1], "measured", len(seen))


def derived(stage: Stage) -> Element | None:
    """What an element takes as it follows from the stage's input; None where it does not."""
    below = stage.input.element if stage.input is not None else None
    if stage.name == "zip":
        return _together([each.element for each in stage.inputs])
    if below is None:
        return None
    if stage.name in LEFT_OUT or stage.name == "filter" or _repacks(stage):
        return replace(below, how="derived") if below.how == "spec" else below
    count = stage.numbers.get("batch_size", 0)
    if stage.name in _BATCHES and count > 0 and not (stage.name == "padded_batch" and _varies(below)):
        return _times(below, count)
    return None


def _varies(element: Element) -> bool:
    """Whether padding to the longest would make a batch larger than its elements are."""
    return element.high_bytes > 1.05 * element.bytes


def _repacks(stage: Stage) -> bool:
    """Whether a function of tf.data's own only packs ragged tensors into variants, or out of them."""
    return (
        stage.name in ("restructured", "map")
        and all(each.where is None and sum(each.operations.values()) <= 4 for each in stage.functions)
        and ("variant[" in stage.spec or (stage.input is not None and "ragged" in stage.input.spec + stage.spec))
    )


def _together(parts: list[Element | None]) -> Element | None:
    known = [each for each in parts if each is not None]
    if len(known) < len(parts) or not known:
        return None
    sizes = sum(each.bytes for each in known), sum(each.high_bytes for each in known)
    return Element(*sizes, sum(each.tensors for each in known), "derived", min(each.seen for each in known))


def _times(below: Element, count: int) -> Element:
    """A batch: the numbers once more, in one block each."""
    own = ELEMENT_BYTES + TENSOR_BYTES * below.tensors
    whole = own + count * max(1, below.bytes - own), own + count * max(1, below.high_bytes - own)
    return Element(*whole, below.tensors, "derived", below.seen)


def counted(stage: Stage) -> int | None:
    """Its elements, from those of its input where TensorFlow does not say."""
    if stage.cardinality is not None or stage.input is None or stage.input.cardinality is None:
        return stage.cardinality
    below = stage.input.cardinality
    if below == INFINITE and stage.name in _ENDLESS:
        return INFINITE
    if stage.name in ("shuffle", "prefetch", "cache", "options", "restructured", "map", "parallel_map"):
        return below
    count = stage.numbers.get("batch_size", 0)
    if stage.name in _BATCHES and count > 0:
        return below if below < 0 else -(-below // count)
    return None


def _keeps_count(stage: Stage) -> bool:
    """Whether a sample that ended has counted the stage: nothing below it was left out that changes the number."""
    return not any(each.name in ("repeat", "take", "skip", "shard", "sample_from_datasets") for each in stage.walk())


def _inside(function: Function, stage: Stage) -> Function:
    """What an interleaved dataset gives out is what the stage gives out."""
    if function.dataset is None:
        return function
    known = function.dataset.changed(lambda each: replace(each, cardinality=counted(each)))
    return replace(function, dataset=_with_element(known, stage.element))


def _with_element(stage: Stage, element: Element | None) -> Stage:
    stage = replace(stage, element=stage.element or element)
    if stage.name in LEFT_OUT and stage.inputs:
        return replace(stage, inputs=tuple(_with_element(each, element) for each in stage.inputs))
    inner = tuple(_inside(each, stage) for each in stage.functions)
    return replace(stage, functions=inner)


def _first_line(error: BaseException) -> str:
    """What the error says, without the names of nodes that TensorFlow puts before it."""
    lines = _NODES.sub("", str(error)).strip().splitlines()
    return lines[0][:300] if lines else ""
