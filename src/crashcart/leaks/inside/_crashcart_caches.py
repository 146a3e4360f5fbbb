"""Caches of tf.data that are being filled: what each element of an iterator adds to them.

Covers: `cache()` in memory, below an iterator that is alive, with no `repeat` in between: until that iterator ends, every element
that it gives is one that the cache keeps. By the types of its elements and the sizes of the batches above it.
Does not cover: caches in files; elements of unknown size; `shuffle`, whose buffer is full before the first element comes.

Nothing is run for it: the datasets are read as the program made them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself costs 5 ms
    from typing import Any

MOST_ITERATORS, LONGEST_CHAIN = 8, 64
_SAME_COUNT = frozenset({
    "_PrefetchDataset", "_MapDataset", "_ParallelMapDataset", "_ShuffleDataset", "_OptionsDataset", "_TakeDataset",
    "_SkipDataset", "_AssertCardinalityDataset", "_ModelDataset", "_MaxIntraOpParallelismDataset",
    "_PrivateThreadPoolDataset",
})  # fmt: skip
"""One element in for each that comes out. Below anything else (`repeat`, `filter`, `flat_map`), it is not known how many."""
_BATCHES = frozenset({"_BatchDataset", "_ParallelBatchDataset"})


def filling(alive: Any, is_theirs: Any) -> list[list[Any]]:
    """For each iterator over such a cache: its number, where it was made, and the bytes that the cache gets with an element."""
    found = []
    for iterator, _, place in alive.of_kind("dataset iterator")[:MOST_ITERATORS]:
        try:
            each = _bytes_each(getattr(iterator, "_dataset", None))
        except Exception as failure:  # another release of TensorFlow
            if is_theirs(failure):
                raise
            continue
        if each:
            found.append([alive.numbers.get(id(iterator), 0), list(place), each])
    return found


def _bytes_each(dataset: Any) -> int | None:
    """What one element of a dataset adds to the cache below it; None where there is none, or it is not known."""
    elements = 1
    for _ in range(LONGEST_CHAIN):
        kind = type(dataset).__name__
        if kind == "CacheDataset":
            return None if bytes(dataset._filename.numpy()) else _times(elements, _element_bytes(dataset))
        if kind in _BATCHES:
            elements *= int(dataset._batch_size)
        elif kind not in _SAME_COUNT:
            return None
        dataset = getattr(dataset, "_input_dataset", None)
    return None


def _times(elements: int, each: int | None) -> int | None:
    return None if each is None else elements * each


def _element_bytes(dataset: Any) -> int | None:
    """By its types; of a batch with an open first dimension, by the size of the batches that come in."""
    total = 0
    for spec in _flat(dataset.element_spec):
        if spec.shape.rank is None or not spec.dtype.size:
            return None
        size = int(spec.dtype.size)
        for place, known in enumerate(spec.shape.as_list()):
            length = known if known is not None or place else _batch_size(dataset)
            if length is None:
                return None
            size *= int(length)
        total += size
    return total


def _flat(spec: Any) -> list[Any]:
    if isinstance(spec, dict):
        return [each for value in spec.values() for each in _flat(value)]
    if isinstance(spec, (tuple, list)):
        return [each for value in spec for each in _flat(value)]
    return [spec]


def _batch_size(dataset: Any) -> int | None:
    """Of the batches that a dataset gets."""
    for _ in range(LONGEST_CHAIN):
        dataset = getattr(dataset, "_input_dataset", None)
        if type(dataset).__name__ in _BATCHES:
            return int(dataset._batch_size)
        if type(dataset).__name__ not in _SAME_COUNT:
            return None
    return None
