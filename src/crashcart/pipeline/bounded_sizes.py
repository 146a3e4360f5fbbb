"""How large the elements of each stage are, for whoever gives buffers their counts: the same figures as `crashcart pipeline` has.

Covers: dense tensors of known shape (exact), everything else by real elements, the largest with a margin. Does not
cover: getting them (`probe/tensorflow_dataset_measure.py`), what stages hold (`bounded_plan`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crashcart.probe.tensorflow_dataset import datasets, read
from crashcart.probe.tensorflow_dataset import unwrapped as wholly_unwrapped
from crashcart.probe.tensorflow_dataset_measure import Limits, measure
from crashcart.probe.tensorflow_dataset_rebuild import inputs, is_symbolic, kind, made_from, number, unwrapped
from crashcart.probe.tensorflow_dataset_spec import element_bytes, element_of_spec
from crashcart.probe.tensorflow_dataset_thin import must_fill, plainly, thin
from crashcart.stages import Element, Pipeline

SAMPLES = 24
"""Elements that are looked at: enough to see two kinds of images, few enough not to be waited for."""
MEASURED_MARGIN = 1.25
"""Elements that were not looked at may be larger than the largest of those that were."""
_LIMITS = Limits(elements=SAMPLES, stage_s=2.0, total_s=10.0, rates=False, scratch=False)
_SAME = frozenset(
    {"_ShuffleDataset", "_PrefetchDataset", "CacheDataset", "_RepeatDataset", "_IgnoreErrorsDataset", "_OptionsDataset"}
    | {"_SkipDataset", "_TakeDataset", "_ShardDataset", "_FilterDataset", "_TakeWhileDataset"}
    | {"_AssertCardinalityDataset", "_SnapshotDataset"}
)
"""Stages whose elements are those of their input."""
_MULTIPLIED = frozenset({"_BatchDataset", "_ParallelBatchDataset", "_PaddedBatchDataset"})


@dataclass(frozen=True, slots=True)
class ElementSize:
    """Bytes of one element of a stage; `measured` says that it is a sample's largest, not a certainty."""

    bytes: int
    measured: bool = False


class Sizes:
    """Sizes of elements, each stage asked once. `unknown` stands for those inside a function, which cannot be read."""

    def __init__(self, unknown: ElementSize | None = None) -> None:
        self._unknown = unknown
        self._known: dict[int, tuple[Any, ElementSize | None]] = {}
        self._opened: dict[int, int | None] = {}

    @classmethod
    def measured(cls, dataset: Any) -> tuple[Sizes, Pipeline]:
        """Those of all stages of a dataset, and the dataset as it was read for them."""
        pipeline = measure(dataset, read(dataset), _LIMITS)
        sizes = cls()
        for each, stage in zip(datasets(dataset), pipeline.root.walk(), strict=True):
            if stage.element is not None:
                sizes._known[id(each)] = (each, _with_margin(stage.element))
            inner = stage.function.dataset if stage.function is not None else None
            if stage.function is not None and inner is not None and any(inner.tensor_sources()):
                sizes._opened[id(each)] = stage.function.opened_bytes
        return sizes, pipeline

    def of(self, stage: Any) -> ElementSize | None:
        """The size of a stage's elements; None where none could be had (no element, or every one failed)."""
        stage = unwrapped(stage)
        if id(stage) not in self._known:
            self._known[id(stage)] = (stage, self._found(stage))
        return self._known[id(stage)][1]

    def opened(self, stage: Any) -> int | None:
        """The tensors of a dataset that the function of a stage opens, with a margin; None where nobody could tell."""
        found = self._opened.get(id(wholly_unwrapped(made_from(stage))), 0)
        return None if found is None else int(found * MEASURED_MARGIN)

    def _found(self, stage: Any) -> ElementSize | None:
        exact = element_of_spec(stage.element_spec)
        if exact is not None:
            return ElementSize(exact.bytes)
        before = inputs(stage)
        if kind(stage) in _SAME and before:  # one that was moved has the elements of where it is now
            return self.of(before[0])
        origin = wholly_unwrapped(made_from(stage))
        if id(origin) in self._known:
            return self._known[id(origin)][1]
        if kind(stage) in _MULTIPLIED and before:
            each, count = self.of(before[0]), number(stage._batch_size)
            return ElementSize(each.bytes * count, each.measured) if each and count else None
        return self._unknown if is_symbolic(stage) else looked_at(stage)


def _with_margin(element: Element) -> ElementSize:
    if not element.seen:
        return ElementSize(element.high_bytes)
    return ElementSize(int(element.high_bytes * MEASURED_MARGIN), True)


def looked_at(stage: Any) -> ElementSize | None:
    """The largest of a few elements, with a margin; those that fail are passed over."""
    import tensorflow as tf

    if must_fill(stage):
        return None
    try:
        sample = plainly(thin(stage, SAMPLES)).ignore_errors().take(SAMPLES)
        found = [element_bytes(each)[0] for each in sample]
    except tf.errors.OpError:
        return None
    return ElementSize(int(max(found) * MEASURED_MARGIN), True) if found else None
