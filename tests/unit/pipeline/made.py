"""Stages for tests: chains that are short to write."""

from __future__ import annotations

from typing import Any

from crashcart.stages import AUTOTUNE, INFINITE, Element, Function, Ground, Pipeline, Settings, Stage

MB = 1_000_000
GROUND = Ground(2, 16_000 * MB)


def source(size: int = 200, count: int | None = INFINITE) -> Stage:
    return Stage("range", element=Element(size, size), cardinality=count)


def over(name: str, below: Stage, size: int | None = None, **numbers: int) -> Stage:
    """A stage over another; its elements are those of its input where no size is given."""
    element = below.element if size is None else Element(size, size)
    return Stage(name, numbers, inputs=(below,), element=element, cardinality=below.cardinality)


def mapped(
    below: Stage, size: int, calls: int | None = AUTOTUNE, scratch: int | None = None, **operations: int
) -> Stage:
    function = Function("f", operations or {"Mul": 1}, 0, scratch, "train.py:3")
    numbers = {} if calls is None else {"num_parallel_calls": calls}
    name = "map" if calls is None else "parallel_map"
    return Stage(name, numbers, {}, (below,), (function,), Element(size, size), below.cardinality)


def batched(below: Stage, count: int) -> Stage:
    assert below.element is not None
    return over("batch", below, count * below.element.bytes, batch_size=count)


def cached(below: Stage, file: str = "") -> Stage:
    return Stage("cache", {}, {"filename": file}, (below,), (), below.element, below.cardinality)


def opened(below: Stage, inner: Stage, name: str = "parallel_interleave", **numbers: int) -> Stage:
    function = Function("open", {"RangeDataset": 1}, dataset=inner)
    return Stage(name, numbers, {}, (below,), (function,), inner.element)


def pipeline(root: Stage, **settings: Any) -> Pipeline:
    return Pipeline(root, Settings(**settings))
