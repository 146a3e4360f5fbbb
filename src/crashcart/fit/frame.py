"""A graph prepared to be run many times, and one run of it.

Covers: who reads whose outputs, how often; loops taken apart into what enters, the turns, and what leaves, as TensorFlow does
before it runs them; what of sizes, scratch and time is known before a run.
Does not cover: running (`walk.py`), or the turns themselves (`loop.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from crashcart.fit import control, kernels, onednn
from crashcart.fit.places import BACKWARD, UPDATE, part
from crashcart.fit.pruned import pruned
from crashcart.fit.values import NOTHING, Value
from crashcart.graph import LOOPS, Graph, Node, Tensor

if TYPE_CHECKING:
    from crashcart.fit.loop import Loop

# What an operation does with its inputs when it ends: drops them; hands them to a loop; has handed them on to a branch.
PLAIN, ENTERS, TAKES = range(3)
# TensorFlow keeps up to 8 readers of an operation in the order of the graph; more go into a hash table.
MOST_IN_ORDER = 8


class Plan:
    """A graph prepared: lists by the index of the operation, and by slot (one for each output of each operation)."""

    def __init__(
        self, graph: Graph, cores: int, optimizers: Collection[str] = (), cache_bytes: int | None = None
    ) -> None:
        self.nodes, self.exits, results = _taken_apart(graph)
        self.arguments = graph.arguments
        self.first_slot, self.slots = _slots(self.nodes, results)
        self.inputs = [tuple(self.first_slot[each] + number for each, number in node.inputs) for node in self.nodes]
        self.results = [self.first_slot[each] + number for each, number in results]
        self.result_slots = _by_slot(self.results)
        self.owed = [0] * self.slots
        for slot in (*(each for inputs in self.inputs for each in inputs), *self.results):
            self.owed[slot] += 1
        self.pending, self.readers = _waiting(self.nodes)
        for exits in self.exits.values():
            for index in exits:
                self.pending[index] += 1
        given = set(graph.arguments)
        self.roots = [index for index, count in enumerate(self.pending) if not count and index not in given]
        self.cheap = [node.op in kernels.CHEAP for node in self.nodes]
        self.kinds = [_kind(node, optimizers) for node in self.nodes]
        self.counts = [node.value is not None or node.op in control.COUNTING for node in self.nodes]
        self.special = [control.special_of(node) for node in self.nodes]
        self.known = [self._known(index, cores, cache_bytes) for index in range(len(self.nodes))]
        self.bytes = sum(
            count for each in self.known if each is not None and not each.alias for _, count in each.outputs
        )
        """What all operations give out; one of two branches is taken for the larger by it."""
        self.ends = [_end(node) for node in self.nodes]
        names = (node.name for node in self.nodes)
        self.begins = list(zip(names, self.inputs, self.special, self.known, strict=True))
        """What is looked up each time an operation begins."""
        self.heard = [bool(self.owed[self.first_slot[each]] or self.readers[each]) for each in self.arguments]
        """Of each argument, whether anything reads it or waits for it."""
        self.heard_at = [position for position, heard in enumerate(self.heard) if heard]
        self.seen: dict[tuple[Any, ...], Known] = {}

    def _known(self, index: int, cores: int, cache_bytes: int | None) -> Known | None:
        node = self.nodes[index]
        inputs = [_output(self.nodes[each], number) for each, number in node.inputs]
        if any(each.shape is None for each in (*inputs, *node.outputs)):
            return None
        return Known(node, inputs, cores, cache_bytes)


class Prepared:
    """The graphs of a step prepared, for any number of walks over it."""

    def __init__(self, graph: Graph, cores: int, optimizers: Collection[str] = ()) -> None:
        self._graph, self._cores, self._optimizers = pruned(graph), cores, optimizers
        self.step = Plan(self._graph, cores, optimizers, graph.cache_bytes)
        self._functions: dict[str, Plan] = {}
        self.unsure: dict[str, int] = {}
        """Bytes that were guessed since neither the trace nor the inputs tell them, by operation; filled by the walks."""
        self.turns: dict[str, tuple[int, bool]] = {}
        """How many turns loops were taken to have whose end the data decides, and whether they have no more; filled by the
        walks."""

    def function(self, name: str) -> Plan:
        """A function that a loop or a branch calls."""
        if name not in self._functions:
            function, cache_bytes = self._graph.functions[name], self._graph.cache_bytes
            self._functions[name] = Plan(function, self._cores, self._optimizers, cache_bytes)
        return self._functions[name]


class Known:
    """What is known of an operation whose shapes all are."""

    __slots__ = (
        "alias",
        "first_only",
        "node",
        "outputs",
        "packed_bytes",
        "reuses",
        "scratch_bytes",
        "scratch_parts",
        "seconds",
        "touched_bytes",
    )

    def __init__(self, node: Node, inputs: list[Tensor], cores: int, cache_bytes: int | None = None) -> None:
        self.node = node
        self.alias = bool(inputs) and kernels.is_alias(node, inputs)
        self.reuses = kernels.reusing_output(node.op)
        self.first_only = node.op in kernels.FIRST_ONLY
        self.scratch_bytes = kernels.scratch_bytes(node, inputs, cores, cache_bytes)
        self.scratch_parts = kernels.scratch_parts(node, inputs, self.scratch_bytes) if self.scratch_bytes else ()
        self.touched_bytes = kernels.touched_bytes(node, inputs, self.scratch_bytes)
        self.packed_bytes = onednn.packed_bytes(node, inputs, cores)
        self.seconds = kernels.seconds(node, inputs)
        self.outputs = [(each, each.bytes or 0) for each in node.outputs]


class Frame:
    """One run of a graph: what each operation waits for, and what each output still owes to whom."""

    __slots__ = ("left", "loop", "loops", "owed", "pending", "plan", "readers", "turn", "values")

    def __init__(self, plan: Plan, readers: list[list[int]], loop: Loop | None = None, turn: int = 0) -> None:
        self.plan, self.readers, self.loop, self.turn = plan, readers, loop, turn
        self.values: list[Value] = [NOTHING] * plan.slots
        self.owed = plan.owed.copy()
        self.pending = plan.pending.copy()
        self.left = len(plan.nodes)
        self.loops: dict[int, Loop] = {}


def shuffled(readers: list[list[int]], random: Random) -> list[list[int]]:
    """Readers in the order in which one process has them."""
    return [random.sample(each, len(each)) if len(each) > MOST_IN_ORDER else each for each in readers]


def _taken_apart(graph: Graph) -> tuple[list[Node], dict[int, list[int]], list[tuple[int, int]]]:
    """Each loop as one operation for each value that enters and for each that leaves; the loop itself stays as what waits
    for all of the latter. Returns those that leave, by loop, too."""
    nodes, exits = list(graph.nodes), {}
    for index, node in enumerate(graph.nodes):
        if node.op not in LOOPS:
            continue
        for position, source in enumerate(node.inputs):
            where = {"loop": index, "position": position}
            nodes.append(Node(node.name, "Enter", (source,), node.waits, (), attributes=where))
        exits[index] = list(range(len(nodes), len(nodes) + len(node.outputs)))
        nodes.extend(Node(node.name, "Exit", outputs=(each,)) for each in node.outputs)
    if not exits:
        return nodes, {}, list(graph.results)
    for index, node in enumerate(nodes):
        if any(each in exits for each, _ in node.inputs):
            nodes[index] = replace(node, inputs=tuple(_left(exits, each) for each in node.inputs))
    for index, leaving in exits.items():
        nodes[index] = replace(nodes[index], inputs=(), waits=tuple(leaving), outputs=())
    return nodes, exits, [_left(exits, each) for each in graph.results]


def _left(exits: Mapping[int, list[int]], source: tuple[int, int]) -> tuple[int, int]:
    return (exits[source[0]][source[1]], 0) if source[0] in exits else source


def _slots(nodes: list[Node], results: list[tuple[int, int]]) -> tuple[list[int], int]:
    counts = [len(node.outputs) for node in nodes]
    for index, number in (*(each for node in nodes for each in node.inputs), *results):
        counts[index] = max(counts[index], number + 1)
    first, total = [], 0
    for count in counts:
        first.append(total)
        total += count
    return first, total


def _by_slot(results: list[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for position, slot in enumerate(results):
        found.setdefault(slot, []).append(position)
    return found


def _waiting(nodes: list[Node]) -> tuple[list[int], list[list[int]]]:
    """How many each operation waits for, and who waits for it: those that read it before those that only wait."""
    pending = [len(node.inputs) + len(node.waits) for node in nodes]
    readers: list[list[int]] = [[] for _ in nodes]
    for index, node in enumerate(nodes):
        for source, _ in node.inputs:
            readers[source].append(index)
    for each in readers:
        each.sort(key=lambda index: _rank(nodes[index]))
    for index, node in enumerate(nodes):
        for source in node.waits:
            readers[source].append(index)
    return pending, readers


def _rank(node: Node) -> int:
    """Where an operation stands among the readers of a tensor. The graph's optimizer leaves them in an order of its own, which
    is not that of the trace. In the logs of seven steps it was for nearly every layer: the gradient of its input, of its
    weights, of its bias; for transposed convolutions the weights last; in Adam's updates the first moment before the second."""
    if node.op == "BiasAddGrad":
        return 2
    if "BackpropFilter" in node.op:
        return 3 if "conv_transpose/" in node.name else 1
    return 1 if node.op == "Square" or ("MatMul" in node.op and node.name.endswith("_1")) else 0


def _output(node: Node, number: int) -> Tensor:
    return node.outputs[number] if number < len(node.outputs) else NOTHING.tensor


def _end(node: Node) -> int:
    return ENTERS if node.op == "Enter" else TAKES if node.op in control.TAKERS else PLAIN


def _kind(node: Node, optimizers: Collection[str]) -> str:
    """What an output is for, by the names that Keras gives; an optimizer may have a name of its own."""
    return {UPDATE: "update", BACKWARD: "gradients"}.get(part(node.name, optimizers), "activations")
