"""A large graph imported part by part, so that only one part at a time is there as TensorFlow's operations.

Covers: shapes as TensorFlow infers them for the whole. What a part reads of earlier ones stands in it as a placeholder of the
shape found there; constants, whole numbers, which shapes are computed from, handles and lists come along with all that they
are made of.
Does not cover: graphs with loops; those are imported at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any

from crashcart.graph import LOOPS

# TensorFlow's operations take 4 kB each, in Python and C++ together (measured on a decoder of 80 blocks); so many take 12 MB.
MOST_AT_ONCE = 3_000
_LOOPS = LOOPS | {"NextIteration"}


def imported_in_parts(
    definition: Any, imported: Callable[[Any], list[Any]], most: int = MOST_AT_ONCE
) -> Iterator[list[Any]]:
    """TensorFlow's operations in order. Those of a part may be given up before the next is asked for."""
    count = len(definition.node)
    cut = _Cut(definition) if count > most else None
    if cut is None or cut.whole:
        yield imported(definition)
        return
    for start in range(0, count, most):
        own = [each for each in imported(cut.part(start, start + most)) if cut.places.get(each.name, -1) >= start]
        for each in own:
            cut.learn(each)
        yield own


class _Cut:
    """A graph that is cut, and what is known so far of its tensors."""

    def __init__(self, definition: Any) -> None:
        self._definition = definition
        self._nodes = _in_order(definition.node)
        self.whole = len(self._nodes) < len(definition.node) or any(each.op in _LOOPS for each in self._nodes)
        self.places = {each.name: place for place, each in enumerate(self._nodes)}
        self._given: list[tuple[Any, ...]] = [()] * len(self._nodes)
        """Type and shape of each output, by the place of the node; those that are alike are one object."""
        self._alike: dict[Any, Any] = {}

    def learn(self, operation: Any) -> None:
        """Note the types and shapes of what an operation gives out."""
        found: list[tuple[Any, tuple[int, ...] | None]] = []
        for tensor in operation.outputs:
            dims, unknown = tensor._shape
            found.append((tensor.dtype, None if unknown else tuple(dims)))
        given = tuple(found)
        self._given[self.places[operation.name]] = self._alike.setdefault(given, given)

    def part(self, start: int, end: int) -> Any:
        """The definition of the nodes from one place to another, and of what they read of earlier ones."""
        from tensorflow.core.framework import graph_pb2

        part = graph_pb2.GraphDef(versions=self._definition.versions, library=self._definition.library)
        there: set[str] = set()
        for node in self._nodes[start:end]:
            self._add(part, node, start, there)
        return part

    def _add(self, part: Any, node: Any, start: int, there: set[str]) -> None:
        data = [self._source(part, each, start, there) for each in node.input if each[0] != "^"]
        waits = [each for each in node.input if each[0] == "^" and self.places[each[1:]] >= start]
        added = part.node.add()
        added.CopyFrom(node)
        added.ClearField("input")
        added.attr.pop("_class", None)  # a wish to be placed beside an operation, which may be in another part
        added.input.extend((*data, *waits))

    def _source(self, part: Any, source: str, start: int, there: set[str]) -> str:
        """What an input is called in the part, and is added to it where it lies before."""
        name, _, number = source.partition(":")
        place = self.places[name]
        if place >= start:
            return source
        kind, dims = self._given[place][int(number or 0)]
        node = self._nodes[place]
        if node.op in ("Const", "Cast") or not (kind.is_floating or kind.is_complex):
            if name not in there:
                there.add(name)
                self._add(part, node, start, there)
            return source
        return _stand_in(part, f"{name}/stands_in_{number or 0}", kind, dims, there)


def _in_order(nodes: Any) -> list[Any]:
    """Each after what it reads, and else as they are: so does TensorFlow take them. Those of a circle are missing."""
    places = {each.name: place for place, each in enumerate(nodes)}
    readers: dict[int, list[int]] = {}
    lacking: list[int] = []
    for place, node in enumerate(nodes):
        sources = {places[_named(each)] for each in node.input}
        lacking.append(len(sources))
        for each in sources:
            readers.setdefault(each, []).append(place)
    ready = [place for place, count in enumerate(lacking) if not count]
    found = []
    while ready:
        place = heapq.heappop(ready)
        found.append(nodes[place])
        for each in readers.get(place, ()):
            lacking[each] -= 1
            if not lacking[each]:
                heapq.heappush(ready, each)
    return found


def _stand_in(part: Any, name: str, kind: Any, dims: tuple[int, ...] | None, there: set[str]) -> str:
    if name not in there:
        there.add(name)
        node = part.node.add(name=name, op="Placeholder")
        node.attr["dtype"].type = kind.as_datatype_enum
        shape = node.attr["shape"].shape
        shape.unknown_rank = dims is None
        for each in dims or ():
            shape.dim.add(size=-1 if each is None else each)
    return name


def _named(source: str) -> str:
    return source.lstrip("^").partition(":")[0]
