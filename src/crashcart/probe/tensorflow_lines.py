"""A step at any batch, from its shapes at a few.

Covers: sizes that grow with the batch by a line, which nearly all do: two batches give the line of each dimension, a third
confirms it, and from then on a step at another batch is arithmetic. Where one is no line, each batch is inferred by itself.
Does not cover: shape inference (`tensorflow_graph`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from crashcart.graph import Graph, Node, Shape, Tensor


class _Line(NamedTuple):
    """A whole number that is `slope` times the batch, plus `base`."""

    slope: int
    base: int

    def at(self, batch: int) -> int:
        return self.slope * batch + self.base


class _NoLineError(Exception):
    """A size does not grow with the batch by a line."""


_Shape = tuple[_Line, ...] | None


@dataclass(frozen=True, slots=True)
class _Growing:
    """What of a node depends on the batch."""

    index: int
    shapes: tuple[_Shape, ...]
    partly: tuple[_Shape, ...]
    value: _Line | None


class Lines:
    """Steps by batch. `inferred` gives the step at a batch by TensorFlow's own means."""

    def __init__(self, inferred: Callable[[int], Graph]) -> None:
        self._inferred = inferred
        self._first: tuple[int, Graph] | None = None
        self._growing: Mapping[str, tuple[_Growing, ...]] | None = None
        self._confirmed: bool | None = None

    def at(self, batch: int) -> Graph:
        """The step at that batch."""
        if self._first is not None and self._first[0] == batch:
            return self._first[1]
        if self._confirmed:
            return self._drawn(batch)
        found = self._inferred(batch)
        if self._first is None:
            self._first = batch, found
        elif self._growing is None and self._confirmed is None:
            self._draw(batch, found)
        elif self._confirmed is None:
            self._confirmed = self._drawn(batch) == found
        return found

    def _draw(self, batch: int, found: Graph) -> None:
        assert self._first is not None
        first, graph = self._first
        try:
            pairs = {name: (each, found.functions[name]) for name, each in graph.functions.items()}
            pairs[""] = graph, found
            self._growing = {name: tuple(_growing(first, one, batch, other)) for name, (one, other) in pairs.items()}
        except (_NoLineError, KeyError):
            self._confirmed = False

    def _drawn(self, batch: int) -> Graph:
        assert self._first is not None and self._growing is not None
        base, growing = self._first[1], self._growing
        functions = {name: _at(each, growing[name], batch) for name, each in base.functions.items()}
        main = _at(base, growing[""], batch)
        return Graph(main.nodes, main.arguments, main.results, functions, base.variables)


def _growing(first: int, low: Graph, second: int, high: Graph) -> list[_Growing]:
    if len(low.nodes) != len(high.nodes):
        raise _NoLineError
    found = []
    for index, (one, other) in enumerate(zip(low.nodes, high.nodes, strict=True)):
        if one.name != other.name:
            raise _NoLineError
        if one.outputs == other.outputs and one.value == other.value:
            continue
        pairs = list(zip(one.outputs, other.outputs, strict=True))
        shapes = tuple(_shape(first, a.shape, second, b.shape) for a, b in pairs)
        partly = tuple(_shape(first, a.partly, second, b.partly) for a, b in pairs)
        value = None if one.value is None and other.value is None else _line(first, one.value, second, other.value)
        found.append(_Growing(index, shapes, partly, value))
    return found


def _shape(first: int, low: tuple[int, ...] | None, second: int, high: tuple[int, ...] | None) -> _Shape:
    if low is None and high is None:
        return None
    if low is None or high is None or len(low) != len(high):
        raise _NoLineError
    return tuple(_line(first, one, second, other) for one, other in zip(low, high, strict=True))


def _line(first: int, low: int | None, second: int, high: int | None) -> _Line:
    if low is None or high is None:
        raise _NoLineError
    slope, rest = divmod(high - low, second - first)
    if rest:
        raise _NoLineError
    return _Line(slope, low - slope * first)


def _at(graph: Graph, growing: tuple[_Growing, ...], batch: int) -> Graph:
    nodes = list(graph.nodes)
    for each in growing:
        node = nodes[each.index]
        outputs = tuple(
            Tensor(_sizes(shape, batch), tensor.item_bytes, tensor.guessed, _sizes(partly, batch))
            for shape, partly, tensor in zip(each.shapes, each.partly, node.outputs, strict=True)
        )
        value = each.value.at(batch) if each.value is not None else node.value
        nodes[each.index] = Node(
            node.name, node.op, node.inputs, node.waits, outputs, node.variable, value, node.attributes
        )
    return Graph(tuple(nodes), graph.arguments, graph.results)


def _sizes(shape: _Shape, batch: int) -> Shape | None:
    return None if shape is None else tuple([line.at(batch) for line in shape])
