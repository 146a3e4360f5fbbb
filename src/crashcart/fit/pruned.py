"""A step without what its loops only carry along.

TensorFlow takes loops apart before it runs them and drops what nothing asks for. A gradient's loop may read a list of one tensor
per turn whose result nobody needs: neither it nor the loop that fills the list does that work then.
Covers: loops without effects of their own (StatelessWhile). Does not cover: others, which may print or write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from crashcart.graph import Graph, Node

_LOOP = "StatelessWhile"
Source = tuple[int, int]


def pruned(graph: Graph) -> Graph:
    """The step with each loop's idle values handed on as they are."""
    graphs = (graph, *graph.functions.values())
    bodies = {node.attributes["body"] for each in graphs for node in each.nodes if node.op == _LOOP}
    if not bodies:
        return graph
    search = _Search(graph.functions)
    search.asked(graph, _all(graph))
    for name, each in graph.functions.items():
        if name not in bodies:  # branches and others keep all that they do
            search.asked(each, _all(each))
    found = {name: search.working(name) if name in bodies else each for name, each in graph.functions.items()}
    return replace(graph, functions=found)


def _all(graph: Graph) -> Iterator[Source]:
    """What everything but the loops reads."""
    yield from graph.results
    for node in graph.nodes:
        if node.op != _LOOP:
            yield from node.inputs


class _Search:
    """Which values of loops something asks for, by their bodies."""

    def __init__(self, functions: Mapping[str, Graph]) -> None:
        self._functions = functions
        self._live: dict[str, set[int]] = {}

    def asked(self, graph: Graph, sources: Iterable[Source]) -> set[Source]:
        """All outputs that have to be there for these."""
        found: set[Source] = set()
        left = list(sources)
        while left:
            source = left.pop()
            if source in found:
                continue
            found.add(source)
            node = graph.nodes[source[0]]
            left += self._inputs(node, source[1])
            left += [(each, number) for each in node.waits for number in range(len(graph.nodes[each].outputs) or 1)]
        return found

    def _inputs(self, node: Node, position: int) -> list[Source]:
        if node.op != _LOOP:
            return list(node.inputs)
        name = node.attributes["body"]
        condition = self._functions[node.attributes["cond"]]
        live = self._live.setdefault(name, set())
        live |= {position, *_positions(condition, self.asked(condition, condition.results))}
        body, before = self._functions[name], 0
        while len(live) > before:
            before = len(live)
            live |= _positions(body, self.asked(body, [body.results[each] for each in live]))
        return [node.inputs[each] for each in live]

    def working(self, name: str) -> Graph:
        """A loop's body without the work that nothing asks for."""
        body, live = self._functions[name], self._live.get(name, set())
        if len(live) == len(body.results):
            return body
        given = [(each, 0) for each in body.arguments]
        results = tuple(each if at in live else given[at] for at, each in enumerate(body.results))
        kept = {index for index, _ in self.asked(body, (*results, *given))}
        nodes = [each if index in kept else Node(each.name, "NoOp") for index, each in enumerate(body.nodes)]
        return replace(body, nodes=tuple(nodes), results=results)


def _positions(graph: Graph, asked: set[Source]) -> set[int]:
    return {at for at, each in enumerate(graph.arguments) if (each, 0) in asked}
