"""Updates that an optimizer makes alike for many variables, traced once for each kind.

Keras writes down the update of each variable by itself: 44 operations for Adam, which made more than half of a MobileNetV2's
train step. Variables of one shape and type are updated alike, so that one of them is traced, a mark stands for each of the
others, and the plain data are completed from it.
Covers: Keras' own optimizers, dense gradients, models of so many variables that tracing each update by itself would take
hundreds of megabytes. TensorFlow's optimizer orders what it gives out in a way that this cannot follow, and the order of
nodes decides what runs first, so that steps of fewer variables are traced whole.
Does not cover: updates within branches (scaled losses, accumulation), sparse gradients, optimizers of the user's own: these
are traced as they are.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from crashcart.graph import Graph, Node, Tensor

_PLAIN = frozenset({"Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "Lion", "Lamb"})


# A decoder of 80 layers has 723 variables; of the models in keras.applications only the largest have more than 500.
MANY_VARIABLES = 500


class NotAlikeError(Exception):
    """The traced update does not look as it should; the step has to be traced whole."""


@dataclass(slots=True)
class Kind:
    """One update that was traced, and the marks of those like it. Variables are TensorFlow's, in the same order for each."""

    scope: str
    variables: tuple[Any, ...]
    others: dict[str, tuple[Any, ...]] = field(default_factory=dict)


@contextmanager
def traced_once(model: Any) -> Iterator[list[Kind]]:
    """Updates are traced once for each kind meanwhile; what is given is filled with the kinds."""
    optimizer: Any = getattr(model, "optimizer", None)
    kinds: dict[Any, Kind] = {}
    found: list[Kind] = []
    if not _is_plain(optimizer):
        yield found
        return
    shapes = Counter(_key(each) for each in optimizer._trainable_variables)
    plain = optimizer.update_step

    def update(gradient: Any, variable: Any, learning_rate: Any) -> Any:
        import tensorflow as tf

        key = _key(variable)
        fits = (
            tf.is_tensor(gradient) and not isinstance(gradient, tf.IndexedSlices) and gradient.dtype == variable.dtype
        )
        if not fits or shapes[key] < 2 or not key[0]:
            return plain(gradient, variable, learning_rate)
        own = _own(optimizer, variable)
        with tf.name_scope(f"alike_{len(found) if key not in kinds else found.index(kinds[key])}") as scope:
            if key not in kinds:
                kinds[key] = Kind(scope, own)
                found.append(kinds[key])
                return plain(gradient, variable, learning_rate)
            kinds[key].others[scope] = own
            return tf.raw_ops.AssignVariableOp(resource=variable.handle, value=gradient, name="mark")

    object.__setattr__(optimizer, "update_step", update)
    try:
        yield found
    finally:
        object.__delattr__(optimizer, "update_step")


def _is_plain(optimizer: Any) -> bool:
    kind = type(optimizer)
    return (
        kind.__module__.startswith("keras.")
        and kind.__name__ in _PLAIN
        and bool(optimizer.built)
        and len(optimizer._trainable_variables) > MANY_VARIABLES
        and not optimizer.gradient_accumulation_steps
        and "update_step" not in vars(optimizer)
    )


def _key(variable: Any) -> tuple[tuple[int, ...], str]:
    kind = variable.dtype
    return tuple(variable.shape), kind if isinstance(kind, str) else kind.name


def _own(optimizer: Any, variable: Any) -> tuple[Any, ...]:
    """The variable, and its slots."""
    index, count = optimizer._get_variable_index(variable), len(optimizer._trainable_variables)
    lists = [each for each in vars(optimizer).values() if isinstance(each, list) and len(each) == count]
    slots = [each[index].value for each in lists if each is not optimizer._trainable_variables]
    return (variable, *(each for each in slots if each is not variable))


def completed(graph: Graph, kinds: list[Kind], names: Mapping[int, str], places: Mapping[str, int]) -> Graph:
    """The step with each mark replaced by an update of its own. `names` gives a variable's name by its id, `places` the place
    of each traced node in TensorFlow's own definition: what runs first depends on the order of nodes."""
    if not kinds:
        return graph
    completion = _Completion(graph, places)
    numbers = {node.name: index for index, node in enumerate(graph.nodes)}
    for kind in kinds:
        pattern = _pattern(graph, kind.scope, [names[id(each)] for each in kind.variables])
        for scope, variables in kind.others.items():
            if f"{scope}mark" not in numbers:
                raise NotAlikeError(f"no mark in {scope}")
            completion.add(pattern, scope, [names[id(each)] for each in variables], numbers[f"{scope}mark"])
    return completion.ordered()


@dataclass(frozen=True, slots=True)
class _Pattern:
    """The nodes of a traced update without its constants, which are shared, and where its gradient comes from."""

    scope: str
    nodes: tuple[int, ...]
    gradient: tuple[int, int]
    variables: tuple[str, ...]
    write: int
    """The node that writes the variable."""
    readers: frozenset[int]
    """What reads the variable before that."""


def _pattern(graph: Graph, scope: str, own: list[str]) -> _Pattern:
    scoped = {
        index
        for index, node in enumerate(graph.nodes)
        if scope in node.name and node.variable is None and node.op != "Const"
    }
    read = {source for index in scoped for source in graph.nodes[index].inputs if source[0] not in scoped}
    given = {source for source in read if graph.nodes[source[0]].outputs[source[1]].shape}
    writes = [each for each in scoped if graph.nodes[each].op.startswith("Assign") and _variable(graph, each) == own[0]]
    if len(given) != 1 or len(writes) != 1:
        raise NotAlikeError(f"{len(given)} gradients and {len(writes)} writes in {scope}")
    readers = frozenset(index for index in range(len(graph.nodes)) if _variable(graph, index) == own[0]) - scoped
    return _Pattern(scope, tuple(sorted(scoped)), given.pop(), tuple(own), writes[0], readers)


def _variable(graph: Graph, index: int) -> str | None:
    """The variable that a node reads or writes."""
    inputs = graph.nodes[index].inputs
    return graph.nodes[inputs[0][0]].variable if inputs else None


class _Completion:
    """The nodes of a step, with those of the updates that were not traced."""

    def __init__(self, graph: Graph, places: Mapping[str, int]) -> None:
        self._graph = graph
        self._nodes = list(graph.nodes)
        self._order: list[tuple[int, int]] = [(places.get(node.name, 0), 0) for node in graph.nodes]
        self._handles = {node.variable: index for index, node in enumerate(graph.nodes) if node.variable is not None}

    def add(self, pattern: _Pattern, scope: str, own: list[str], mark: int) -> None:
        """One update. Its write takes the number of the mark, so that what waits for that waits for it."""
        pairs = zip(pattern.variables, own, strict=True)
        first = self._order[mark][0]
        numbers = {self._handles[old]: self._handle(new, first) for old, new in pairs if old in self._handles}
        numbers[pattern.write] = mark
        fresh = [each for each in pattern.nodes if each != pattern.write]
        numbers |= {index: len(self._nodes) + count for count, index in enumerate(fresh)}
        made = {index: self._copied(index, pattern, scope, numbers, self._graph.nodes[mark]) for index in pattern.nodes}
        rank = {index: count + 1 for count, index in enumerate(sorted(pattern.nodes, key=self._order.__getitem__))}
        self._nodes[mark], self._order[mark] = made[pattern.write], (first, rank[pattern.write])
        self._nodes += [made[each] for each in fresh]
        self._order += [(first, rank[each]) for each in fresh]

    def _handle(self, name: str, place: int) -> int:
        if name not in self._handles:
            self._handles[name] = len(self._nodes)
            self._nodes.append(Node(name, "VarHandleOp", outputs=(Tensor((), 0),), variable=name))
            self._order.append((place, 0))
        return self._handles[name]

    def ordered(self) -> Graph:
        """As TensorFlow would take the nodes: of those whose inputs it has taken, the first in the definition."""
        sources = [{*(each for each, _ in node.inputs), *node.waits} for node in self._nodes]
        owed, readers = [len(each) for each in sources], [[] for _ in sources]  # type: tuple[list[int], list[list[int]]]
        for index, each in enumerate(sources):
            for source in each:
                readers[source].append(index)
        ready = [(self._order[index], index) for index, count in enumerate(owed) if not count]
        heapq.heapify(ready)
        taken: dict[int, int] = {}
        while ready:
            _, index = heapq.heappop(ready)
            taken[index] = len(taken)
            for reader in readers[index]:
                owed[reader] -= 1
                if not owed[reader]:
                    heapq.heappush(ready, (self._order[reader], reader))
        if len(taken) < len(self._nodes):
            raise NotAlikeError("nodes wait for each other")
        return self._renumbered(taken)

    def _renumbered(self, taken: Mapping[int, int]) -> Graph:
        nodes = []
        for index in taken:
            node = self._nodes[index]
            inputs = tuple([(taken[source], number) for source, number in node.inputs])
            waits = tuple([taken[each] for each in node.waits])
            made = (node.name, node.op, inputs, waits, node.outputs, node.variable, node.value, node.attributes)
            nodes.append(Node(*made))
        graph = self._graph
        arguments = tuple(taken[each] for each in graph.arguments)
        results = tuple((taken[each], number) for each, number in graph.results)
        return Graph(tuple(nodes), arguments, results, graph.functions, graph.variables)

    def _copied(self, index: int, pattern: _Pattern, scope: str, numbers: Mapping[int, int], mark: Node) -> Node:
        node = self._graph.nodes[index]
        inputs = tuple(
            mark.inputs[1] if source == pattern.gradient else (numbers.get(source[0], source[0]), source[1])
            for source in node.inputs
        )
        waits = tuple(numbers.get(each, each) for each in node.waits if each not in pattern.readers)
        if index == pattern.write:
            waits += tuple(each for each in mark.waits if each not in waits)
        return replace(node, name=node.name.replace(pattern.scope, scope), inputs=inputs, waits=waits)
