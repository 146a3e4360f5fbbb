"""A walk over one step, the way TensorFlow's executor goes: an operation runs when its inputs are there, a tensor is freed
after its last reader.

Covers: order, aliases, reuse of dying inputs, variables and their copies, tensor lists, loops and branches, scratch; the
time line of what is held, by kind.
Does not cover: the sizes themselves (`graph.py`), or several devices. Loops run as often as their counter says; where
that is not known, as often as their lists are long.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from crashcart.fit import ahead, control, kernels
from crashcart.fit.chunks import Chunks
from crashcart.fit.schedule import Workers
from crashcart.fit.values import NOTHING, Buffer, Value
from crashcart.graph import Graph, Node, Tensor, Variable

# The executor takes an operation for cheap below 8000 cycles, which is about 3 microseconds.
CHEAP_S = 3e-6
# How much longer or shorter than expected an operation may take: which of two operations ends first is chance, and the peak
# depends on it. Real steps of one program differ by as much as those that are drawn so.
HASTE = (0.5, 2.0)


@dataclass
class Peak:
    """What was held when the most was."""

    bytes: int = 0
    node: str = ""
    op: str = ""
    held: tuple[tuple[str, str, int], ...] = ()
    """Name, kind and chunk size of each buffer, the largest first."""


@dataclass
class Frame:
    """One run of a graph: what each operation waits for, and what each output still owes to whom."""

    graph: Graph
    values: dict[tuple[int, int], Value] = field(default_factory=dict)
    owed: dict[tuple[int, int], int] = field(default_factory=dict)
    pending: list[int] = field(default_factory=list)
    readers: list[list[int]] = field(default_factory=list)
    begun: dict[int, tuple[list[Value], list[Value], Buffer | None]] = field(default_factory=dict)


class Walk:
    """One device: its allocator, its variables, and the step that runs on it."""

    def __init__(self, graph: Graph, cores: int = 2, seed: int = 0, chunks: Chunks | None = None) -> None:
        self.graph = graph
        self.cores = cores
        self.chunks = Chunks() if chunks is None else chunks
        self.peak = Peak()
        self.timeline: list[tuple[str, int]] = []
        self.target_bytes: int | None = None
        self.operations = 0
        self._random = Random(seed)
        self._ahead: dict[str, list[tuple[str, int | None]]] = {}
        self._told: dict[str, int] = {}
        self._live: set[Buffer] = set()
        self._constants: dict[int, Buffer] = {}
        self._new("runtime", "other", 8)  # TensorFlow's own first tensor opens the first region
        self.variables = {each.name: self._resident(each) for each in graph.variables}

    def step(self, inputs: Sequence[Tensor], held: bool = False) -> Peak:
        """Run one step on a fresh batch; returns its peak. `held`: the caller keeps the batch to the end, as `predict` does,
        where training takes it from an iterator. What is held at the peak is told from `target_bytes` on."""
        self.peak = Peak()
        self.timeline = []
        handed = [Value(self.allocate("input", "input", each), each) for each in inputs]
        for each in handed if held else ():
            self.keep(each.buffer)
        frame, roots = self._entered(self.graph, handed)
        nodes = self.graph.nodes
        workers = Workers(
            self.cores,
            lambda index: self._begin(frame, index),
            lambda index: self._end(frame, index),
            lambda index: kernels.seconds(nodes[index], self._tensors(frame, index)) < CHEAP_S,
        )
        workers.run(roots)
        for where in self.graph.results:
            self.release(frame.values.get(where, NOTHING))
        for each in handed if held else ():
            self.release(each)
        return self.peak

    def run(self, graph: Graph, arguments: Sequence[Value]) -> list[Value]:
        """Run a graph to its end, one operation after another; takes over the references of its arguments and hands out
        those of its results."""
        frame, roots = self._entered(graph, arguments)
        ready = deque(roots)
        while ready:
            index = ready.popleft()
            self._begin(frame, index)
            ready.extend(self._end(frame, index))
        return [frame.values.get(each, NOTHING) for each in graph.results]

    def _entered(self, graph: Graph, arguments: Sequence[Value]) -> tuple[Frame, list[int]]:
        """The frame of a run with its arguments in place, and what is ready."""
        frame = _frame(graph)
        given = set(graph.arguments)
        roots = [index for index in range(len(graph.nodes)) if not frame.pending[index] and index not in given]
        for index, value in zip(graph.arguments, arguments, strict=True):
            self._put(frame, (index, 0), value)
            roots.extend(self._ready_after(frame, index))
        return frame, roots

    def _tensors(self, frame: Frame, index: int) -> list[Tensor]:
        return [frame.values.get(each, NOTHING).tensor for each in frame.graph.nodes[index].inputs]

    def _begin(self, frame: Frame, index: int) -> float:
        """Take the inputs, allocate outputs and scratch; returns how long the operation runs."""
        self.operations += 1
        node = frame.graph.nodes[index]
        inputs = [self._taken(frame, each) for each in node.inputs]
        outputs = self.compute(node, inputs)
        tensors = [each.tensor for each in inputs]
        scratch = kernels.scratch_bytes(node, tensors, self.cores)
        frame.begun[index] = (inputs, outputs, self._new(node.name, "scratch", scratch) if scratch else None)
        self._note(node)
        return kernels.seconds(node, tensors) * self._random.uniform(*HASTE)

    def _end(self, frame: Frame, index: int) -> list[int]:
        """Free scratch and inputs, hand the outputs on; returns what is ready now."""
        node = frame.graph.nodes[index]
        inputs, outputs, scratch = frame.begun.pop(index)
        if scratch is not None:
            self.drop(scratch)
        for number, value in enumerate(outputs):
            self._put(frame, (index, number), value)
        if node.op not in control.TAKERS:
            for value in inputs:
                self.release(value)
        return self._ready_after(frame, index)

    def _taken(self, frame: Frame, source: tuple[int, int]) -> Value:
        """The value with a reference of the reader's own: the frame's, if it is the last one to read it."""
        value = frame.values.get(source, NOTHING)
        frame.owed[source] -= 1
        if frame.owed[source] > 0:
            self.keep(value.buffer)
        else:
            frame.values.pop(source, None)
        return value

    def compute(self, node: Node, inputs: list[Value]) -> list[Value]:
        """What the operation gives out; new references for the frame to hold."""
        special = control.SPECIAL.get(node.op)
        if special is not None:
            return special(self, node, inputs)
        if node.op == "Const":
            return [Value(self._constant(node), node.outputs[0], node.value)]
        tensors = [each.tensor for each in inputs]
        if inputs and kernels.is_alias(node, tensors):
            return self._aliased(node, inputs)
        return self._allocated(node, inputs)

    def _aliased(self, node: Node, inputs: list[Value]) -> list[Value]:
        found = []
        for each, tensor in zip(inputs, node.outputs, strict=False):
            found.append(
                Value(self.keep(each.buffer), tensor if tensor.shape is not None else each.tensor, each.number)
            )
        return found

    def _allocated(self, node: Node, inputs: list[Value]) -> list[Value]:
        found = []
        reuses = node.op in kernels.REUSERS
        for number, tensor in enumerate(node.outputs):
            actual = tensor
            if tensor.bytes is None:
                actual = control.guessed(node, inputs, tensor)
                self._told[node.name] = actual.bytes or 0
            dying = self._dying(inputs, actual) if reuses and number == 0 else None
            buffer = self.keep(dying) if dying is not None else self.allocate(node.name, _kind(node), actual)
            known = node.value if node.value is not None else control.counted(node, inputs)
            found.append(Value(buffer, actual, known if number == 0 else None))
        return found

    def _dying(self, inputs: list[Value], wanted: Tensor) -> Buffer | None:
        """An input's buffer that only this reader refers to, and that has the right size."""
        for each in inputs:
            buffer = each.buffer
            if buffer is None or buffer.references > 1 or buffer.kind == "constant":
                continue
            if each.tensor.bytes == wanted.bytes and each.tensor.item_bytes == wanted.item_bytes:
                return buffer
        return None

    def keep(self, buffer: Buffer | None) -> Buffer | None:
        """One more reference."""
        if buffer is not None:
            buffer.references += 1
        return buffer

    def release(self, value: Value) -> None:
        """One reference less."""
        if value.buffer is not None:
            self.drop(value.buffer)

    def drop(self, buffer: Buffer) -> None:
        """One reference less; the last one frees."""
        buffer.references -= 1
        if buffer.references:
            return
        self._live.discard(buffer)
        if buffer.address is not None:
            self.chunks.free(buffer.address)
        for each in buffer.items or ():
            self.release(each)

    def allocate(self, name: str, kind: str, tensor: Tensor) -> Buffer | None:
        """Memory for a tensor; None where it has no elements."""
        count = tensor.bytes
        return self._new(name, kind, count) if count else None

    def _new(self, name: str, kind: str, count_bytes: int) -> Buffer:
        buffer = Buffer(name, kind, count_bytes, self.chunks.allocate(count_bytes))
        self._live.add(buffer)
        return buffer

    def new(self, name: str, count_bytes: int) -> Buffer:
        """Memory for an activation."""
        return self._new(name, "activations", count_bytes)

    def computed_ahead(self, function: str) -> list[tuple[str, int]]:
        """What the turns of a loop compute ahead, as far as sizes are known by now."""
        if function not in self._ahead:
            self._ahead[function] = ahead.computed_ahead(self.graph.functions[function])
        found = [(name, self._told.get(name, 0) if count is None else count) for name, count in self._ahead[function]]
        return [(name, count) for name, count in found if count]

    def new_list(self, name: str) -> Buffer:
        """An empty list of tensors; it takes no memory of its own that matters."""
        buffer = Buffer(name, "activations", 0, None)
        buffer.items = []
        return buffer

    def copied(self, buffer: Buffer, name: str) -> Buffer:
        """A copy of a variable's buffer, which it takes over."""
        fresh = self._new(name, buffer.kind, buffer.bytes)
        self.drop(buffer)
        return fresh

    def _constant(self, node: Node) -> Buffer | None:
        """Constants are made once and stay."""
        if id(node) not in self._constants:
            made = self.allocate(node.name, "constant", node.outputs[0])
            if made is None:
                return None
            self._constants[id(node)] = made
        return self.keep(self._constants[id(node)])

    def _resident(self, variable: Variable) -> Buffer:
        """A variable with its first value: drawn, scaled and shifted, each into memory of its own."""
        passing = [self._new(variable.name, "scratch", variable.bytes) for _ in range(2 if variable.drawn else 0)]
        buffer = self._new(variable.name, variable.kind, variable.bytes)
        for each in passing:
            self.drop(each)
        return buffer

    def _put(self, frame: Frame, where: tuple[int, int], value: Value) -> None:
        if frame.owed.get(where, 0) > 0:
            frame.values[where] = value
        else:
            self.release(value)

    def _ready_after(self, frame: Frame, index: int) -> list[int]:
        found = []
        for reader in frame.readers[index]:
            frame.pending[reader] -= 1
            if not frame.pending[reader]:
                found.append(reader)
        return found

    def _note(self, node: Node) -> None:
        used = self.chunks.used_bytes
        self.timeline.append((node.name, used))
        if used > self.peak.bytes:
            self.peak.bytes, self.peak.node, self.peak.op = used, node.name, node.op
            if self.target_bytes is not None and used >= self.target_bytes:
                self.peak.held = self._held()

    def _held(self) -> tuple[tuple[str, str, int], ...]:
        found = [(each.name, each.kind, self.chunks.held_bytes(each.address)) for each in self._live if each.address]
        return tuple(sorted(found, key=lambda each: (-each[2], each[0])))


def _frame(graph: Graph) -> Frame:
    frame = Frame(graph, pending=[0] * len(graph.nodes), readers=[[] for _ in graph.nodes])
    for index, node in enumerate(graph.nodes):
        for source in node.inputs:
            frame.owed[source] = frame.owed.get(source, 0) + 1
        sources = [each for each, _ in node.inputs] + list(node.waits)
        frame.pending[index] = len(sources)
        for source_index in sources:
            frame.readers[source_index].append(index)
    for source in graph.results:
        frame.owed[source] = frame.owed.get(source, 0) + 1
    return frame


_UPDATE = re.compile(r"^(adam|adamw|adamax|nadam|sgd|rmsprop|adagrad|adadelta|adafactor|ftrl|lion|lamb|muon)(_\d+)?/")


def _kind(node: Node) -> str:
    """What an output is for, by the names that Keras gives."""
    if _UPDATE.match(node.name):
        return "update"
    return "gradients" if "gradient_tape/" in node.name else "activations"
