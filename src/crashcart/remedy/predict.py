"""Predictions and evaluation in chunks that fit a budget, with the result in place from the beginning.

Covers: arrays, memory maps and tensors as inputs (one, several, named), of which only a chunk is read at a time;
results written into one array each, or into .npy files that need not fit into memory; a chunk that the device refuses
is halved.
Does not cover: datasets and generators, which give out batches already: `model.predict` takes those one at a time
itself.
"""

from __future__ import annotations

import operator
from math import prod
from pathlib import Path
from typing import Any

from crashcart.errors import UsageError
from crashcart.remedy.overlap import refuse_overlap
from crashcart.units import parse_size, size

# Kernels take scratch of about what they read and write; on top of what a forward pass holds at once.
SCRATCH = 2.0


def chunked_predict(
    model: Any, x: Any, budget: str | int | None = None, batch: int | None = None, out: Any = None
) -> Any:
    """What `model.predict(x)` gives, computed in chunks of `batch` examples, or of as many as `budget` (`"1GiB"`, bytes) holds.

    `out` is None (a new array), an array or memory map to write into, or the path of a .npy file to be made; for a model with
    several outputs a structure of those, like the model's own output.
    """
    import keras

    total = _examples(x)
    refuse_overlap(keras.tree.flatten(out), keras.tree.flatten(x))
    chunks = _Chunks(model, total, _batch(model, x, budget, batch))
    results: list[Any] = []
    written: list[Any] = []
    for start, stop in chunks:
        made = chunks.tried(start, stop, lambda begin, end: model.predict_on_batch(_rows(x, begin, end)))
        if made is None:
            continue
        begin, end, values = made
        flat = keras.tree.flatten(values)
        if not written:
            written = _places(values, total, out)
            results = [keras.tree.pack_sequence_as(values, written)]
        for place, value in zip(written, flat, strict=True):
            place[begin:end] = value
    return results[0]


def chunked_evaluate(
    model: Any,
    x: Any,
    y: Any = None,
    budget: str | int | None = None,
    batch: int | None = None,
    sample_weight: Any = None,
) -> dict[str, float]:
    """What `model.evaluate(x, y, return_dict=True)` gives, computed in chunks; the inputs are read a chunk at a time."""
    total = _examples(x)
    for name, given in (("y", y), ("sample_weight", sample_weight)):
        if given is not None and (count := _examples(given)) != total:
            raise UsageError(f"{name} has {count} examples, x has {total}")
    chunks = _Chunks(model, total, _batch(model, x, budget, batch))
    model.make_test_function()
    model.reset_metrics()
    found: dict[str, float] = {}

    def run(begin: int, end: int) -> Any:
        # Not `test_on_batch`, which forgets what came before.
        return model.test_function(iter([_rows((x, y, sample_weight), begin, end)]))

    for start, stop in chunks:
        made = chunks.tried(start, stop, run)
        if made is not None:
            found = {name: float(value) for name, value in made[2].items()}
    return found


class _Chunks:
    """The ranges of examples; a range that did not fit comes again in halves."""

    def __init__(self, model: Any, total: int, batch: int) -> None:
        self.model, self.total, self.batch, self.start = model, total, batch, 0

    def __iter__(self) -> Any:
        while self.start < self.total:
            yield self.start, min(self.start + self.batch, self.total)

    def tried(self, start: int, stop: int, run: Any) -> tuple[int, int, Any] | None:
        """What the run gave; None where the device refused the memory, and a smaller chunk is next."""
        import tensorflow as tf

        try:
            values = run(start, stop)
        except tf.errors.ResourceExhaustedError:
            if self.batch == 1:
                raise
            self.batch = max(1, self.batch // 2)
            return None
        self.start = stop
        return start, stop, values


def _examples(x: Any) -> int:
    import keras

    leaves = [each for each in keras.tree.flatten(x) if each is not None]
    if hasattr(x, "element_spec") or not leaves or not all(_is_rows(each) for each in leaves):
        odd = next((each for each in leaves if not _is_rows(each)), x)
        raise UsageError(
            f"received {type(odd).__name__}; expected arrays, memory maps or tensors, with a row for each example",
            "A dataset gives out batches itself: model.predict(dataset) takes one at a time.",
        )
    counts = {int(each.shape[0]) for each in leaves}
    if len(counts) > 1:
        raise UsageError(f"the inputs have different numbers of examples: {sorted(counts)}")
    if not counts - {0}:
        raise UsageError("the input has no examples")
    return counts.pop()


def _is_rows(each: Any) -> bool:
    """Whether a chunk of it can be taken."""
    return bool(getattr(each, "shape", ())) and hasattr(each, "__getitem__")


def _rows(structure: Any, start: int, stop: int) -> Any:
    import keras

    return keras.tree.map_structure(lambda each: None if each is None else each[start:stop], structure)


def _places(values: Any, total: int, out: Any) -> list[Any]:
    """Where the results go, in flat order."""
    import keras
    import numpy as np

    flat = keras.tree.flatten(values)
    given = [None] * len(flat) if out is None else keras.tree.flatten(out)
    if len(given) != len(flat):
        raise UsageError(f"received {len(given)} places in out=; the model has {len(flat)} outputs")
    places = []
    for value, place in zip(flat, given, strict=True):
        shape = (total, *value.shape[1:])
        if place is None:
            places.append(np.empty(shape, value.dtype))
        elif isinstance(place, (str, Path)):
            places.append(np.lib.format.open_memmap(place, mode="w+", dtype=value.dtype, shape=shape))
        elif tuple(place.shape) != shape:
            raise UsageError(f"out= has the shape {tuple(place.shape)}; expected {shape}")
        elif not np.can_cast(value.dtype, place.dtype, "same_kind"):
            raise UsageError(
                f"out= holds {place.dtype}, which the model's {value.dtype} does not fit into",
                f"Make it with dtype={str(value.dtype)!r}.",
            )
        else:
            places.append(place)
    return places


def _batch(model: Any, x: Any, budget: str | int | None, batch: int | None) -> int:
    if (budget is None) == (batch is None):
        raise UsageError("give budget= or batch=, one of the two", 'Such as budget="1GiB", or batch=64.')
    if batch is not None:
        return _whole(batch)
    limit_bytes = parse_size(budget) if isinstance(budget, str) else int(budget or 0)
    each_bytes = _example_bytes(model, x)
    if each_bytes > limit_bytes:
        raise UsageError(f"one example takes about {size(each_bytes)}, more than the budget of {size(limit_bytes)}")
    return limit_bytes // each_bytes


def _whole(batch: Any) -> int:
    """As Python counts; a NumPy integer is one, too."""
    try:
        count = operator.index(batch)
    except TypeError:
        raise UsageError(f"received batch={batch!r}; expected a whole number of examples, such as 64") from None
    if count < 1:
        raise UsageError(f"received batch={batch}; expected at least 1")
    return count


def _example_bytes(model: Any, x: Any) -> int:
    """About what one example takes in a forward pass: the most that is held at once while the layers run in order."""
    import keras

    inner = getattr(model, "_functional", None) or model
    if not hasattr(inner, "_nodes_by_depth"):
        raise UsageError(
            f"{type(model).__name__} does not say how large its layers' outputs are, so that a budget gives no batch",
            "Give batch=; `crashcart fit --phase predict` tells the largest that fits.",
        )
    nodes = [node for depth in sorted(inner._nodes_by_depth, reverse=True) for node in inner._nodes_by_depth[depth]]
    last = {id(each): number for number, node in enumerate(nodes) for each in node.input_tensors}
    held: dict[int, int] = {}
    most = 0
    for number, node in enumerate(nodes):
        held |= {id(each): _tensor_bytes(each) for each in node.outputs}
        most = max(most, sum(held.values()))
        held = {each: count for each, count in held.items() if last.get(each, -1) > number}
    given = sum(prod(each.shape[1:]) * 4 for each in keras.tree.flatten(x) if hasattr(each, "shape"))
    return int(SCRATCH * most + given)


def _tensor_bytes(tensor: Any) -> int:
    return int(prod(each or 1 for each in tensor.shape[1:])) * (8 if "64" in str(tensor.dtype) else 4)
