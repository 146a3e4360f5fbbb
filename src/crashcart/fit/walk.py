"""A walk over one step, the way TensorFlow's executor goes: an operation runs when its inputs are there, a tensor is freed
after its last reader.

Covers: aliases, reuse of dying inputs, variables and their copies, scratch, waiting for memory under a limit; a journal of what
is held.
Does not cover: order (`schedule.py`), loops (`loop.py`), the sizes themselves (`graph.py`), or several devices.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import replace
from random import Random

from crashcart.fit import control, kernels
from crashcart.fit.chunks import Chunks, FullError
from crashcart.fit.frame import Frame, Known, Plan, shuffled
from crashcart.fit.journal import Journal
from crashcart.fit.loop import Loop
from crashcart.fit.schedule import Item, Workers
from crashcart.fit.values import NOTHING, Buffer, Value
from crashcart.graph import Graph, Node, Tensor, Variable

# How much longer or shorter than expected an operation may take: which of two operations ends first is chance, and the peak
# depends on it. Real steps of one program differ by as much as those that are drawn so.
HASTE = (0.5, 2.0)


class Plans:
    """The graphs of a step prepared, for any number of walks over it."""

    def __init__(self, graph: Graph, cores: int, optimizers: Collection[str] = ()) -> None:
        self.graph, self.cores, self._optimizers = graph, cores, optimizers
        self.step = Plan(graph, cores, optimizers)
        self._functions: dict[str, Plan] = {}

    def function(self, name: str) -> Plan:
        """A function that a loop or a branch calls."""
        if name not in self._functions:
            self._functions[name] = Plan(self.graph.functions[name], self.cores, self._optimizers)
        return self._functions[name]


class Walk:
    """One device: its allocator, its variables, and the step that runs on it."""

    def __init__(
        self,
        graph: Graph,
        cores: int = 2,
        seed: int = 0,
        chunks: Chunks | None = None,
        plans: Plans | None = None,
    ) -> None:
        self.graph, self.cores = graph, cores
        self.chunks = Chunks() if chunks is None else chunks
        self.operations = 0
        self.journal = Journal()
        self._plans = Plans(graph, cores) if plans is None else plans
        self._readers: dict[Plan, list[list[int]]] = {}
        self._random = Random(seed)
        self._workers: Workers | None = None
        self._live: set[Buffer] = set()
        self._constants: dict[int, Buffer] = {}
        self.gathered: set[str] = set()
        """Variables that single rows were read of: TensorFlow copies what is read of them whole from then on."""
        self._new("runtime", "other", 8)  # TensorFlow's own first tensor opens the first region
        self.variables = {each.name: self._resident(each) for each in graph.variables}

    def step(self, inputs: Sequence[Tensor], held: bool = False) -> Journal:
        """Run one step on a fresh batch; returns what was held when. `held`: the caller keeps the batch to the end, as `predict`
        does, where training takes it from an iterator. FullError where the allocator's limit is too low."""
        self.journal = Journal(self._live, self.chunks)
        handed = [Value(self.allocate("input", "input", each), each) for each in inputs]
        plan = self._plans.step
        frame = self.frame(plan)
        self._workers = Workers(self.cores, self, self._random)
        roots: list[Item] = [(frame, index) for index in shuffled([plan.roots], self._random)[0]]
        if held:
            for each in handed:
                self.keep(each.buffer)
            roots += self._arrived(frame, handed)
        self._workers.run(roots)
        if not held:
            self._workers.arrive(self._arrived(frame, handed))
        self._workers = None
        for slot in plan.results:
            self.release(frame.values[slot])
        for each in handed if held else ():
            self.release(each)
        return self.journal

    def _arrived(self, frame: Frame, handed: Sequence[Value]) -> list[Item]:
        """What is ready now that the batch is there."""
        given = zip(frame.plan.arguments, handed, strict=True)
        return [item for index, value in given for item in self.complete(frame, index, [value])]

    def run(self, plan: Plan, arguments: Sequence[Value]) -> list[Value]:
        """Run a graph to its end, one operation after another; takes over the references of its arguments and hands out
        those of its results."""
        frame = self.frame(plan)
        ready = deque((frame, index) for index in plan.roots)
        for index, value in zip(plan.arguments, arguments, strict=True):
            ready.extend(self.complete(frame, index, [value]))
        while ready:
            of, index = ready.popleft()
            self.begin(of, index)
            ready.extend(self.finish(of, index))
        return [frame.values[each] for each in plan.results]

    def plan_of(self, function: str) -> Plan:
        """A function of the graph, prepared."""
        return self._plans.function(function)

    def frame(self, plan: Plan, loop: Loop | None = None, turn: int = 0) -> Frame:
        """A run of a graph in which nothing has been done yet."""
        readers = self._readers.get(plan)
        if readers is None:
            readers = self._readers[plan] = shuffled(plan.readers, self._random)
        return Frame(plan, readers, loop, turn)

    def begin(self, frame: Frame, index: int) -> float:
        """Take the inputs, allocate outputs and scratch; returns how long the operation runs."""
        self.operations += 1
        plan = frame.plan
        node, special = plan.nodes[index], plan.special[index]
        self.journal.mark(node.name)
        inputs = self._taken(frame, plan.inputs[index])
        known = plan.known[index] or self._seen(plan, index, inputs)
        if special is not None:
            outputs = special(self, node, inputs)
        elif known.alias:
            outputs = self._aliased(node, inputs)
        else:
            outputs = self._allocated(plan, index, inputs, known)
        scratch = self._new(node.name, "scratch", known.scratch_bytes) if known.scratch_bytes else None
        frame.begun[index] = (inputs, outputs, scratch)
        return known.seconds * (HASTE[0] + (HASTE[1] - HASTE[0]) * self._random.random())

    def _seen(self, plan: Plan, index: int, inputs: list[Value]) -> Known:
        """What is known of an operation now that its inputs are there; in a loop it is the same at each turn."""
        key = (index, *((each.tensor.shape, each.tells) for each in inputs))
        found = plan.seen.get(key)
        if found is None:
            node = plan.nodes[index]
            outputs = [control.guessed(node, inputs, each) if each.shape is None else each for each in node.outputs]
            sized = replace(node, outputs=tuple(outputs))
            found = plan.seen[key] = Known(sized, [each.tensor for each in inputs], self.cores)
        return found

    def finish(self, frame: Frame, index: int) -> list[Item]:
        """Free scratch and inputs, hand the outputs on; returns what is ready now."""
        node = frame.plan.nodes[index]
        inputs, outputs, scratch = frame.begun.pop(index)
        if scratch is not None:
            self.drop(scratch)
        if node.op == "Enter":
            return self.complete(frame, index, []) + self._entered(frame, node, inputs[0])
        if node.op not in control.TAKERS:
            for value in inputs:
                if value.buffer is not None:
                    self.drop(value.buffer)
        return self.complete(frame, index, outputs)

    def _entered(self, frame: Frame, node: Node, value: Value) -> list[Item]:
        which: int = node.attributes["loop"]
        if which not in frame.loops:
            frame.loops[which] = Loop(self, frame, which)
        return frame.loops[which].give(0, node.attributes["position"], value)

    def complete(self, frame: Frame, index: int, outputs: list[Value]) -> list[Item]:
        """An operation has given out its outputs; returns what is ready now, in this run and in those it hands on to."""
        slot = frame.plan.first_slot[index]
        ready: list[Item] = []
        for value in outputs:
            if frame.owed[slot]:
                frame.values[slot] = value
            elif value.buffer is not None:
                self.drop(value.buffer)
            if frame.loop is not None:
                for position in frame.plan.result_slots.get(slot, ()):
                    handed = self._taken(frame, (slot,))[0]
                    ready += frame.loop.give(frame.turn + 1, position, handed)
            slot += 1
        ready += frame.ready_after(index)
        frame.left -= 1
        if not frame.left and frame.loop is not None:
            ready += frame.loop.ended(frame.turn)
        return ready

    def _taken(self, frame: Frame, slots: Sequence[int]) -> list[Value]:
        """The values, each with a reference of the reader's own: the frame's, if it is the last one to read it."""
        found = []
        values, owed = frame.values, frame.owed
        for slot in slots:
            value = values[slot]
            owed[slot] -= 1
            if not owed[slot]:
                values[slot] = NOTHING
            elif value.buffer is not None:
                value.buffer.references += 1
            found.append(value)
        return found

    def _aliased(self, node: Node, inputs: list[Value]) -> list[Value]:
        found = []
        for each, tensor in zip(inputs, node.outputs, strict=False):
            seen = tensor if tensor.shape is not None else each.tensor
            found.append(Value(self.keep(each.buffer), seen, each.number, each.variable, each.tells))
        return found

    def _allocated(self, plan: Plan, index: int, inputs: list[Value], known: Known) -> list[Value]:
        node = plan.nodes[index]
        found: list[Value] = []
        for output, (tensor, count_bytes) in enumerate(known.outputs):
            reuses = output == known.reuses
            buffer = self.keep(_dying(node, inputs, tensor, count_bytes)) if reuses else None
            if buffer is None and count_bytes:
                buffer = self._new(node.name, plan.kinds[index], count_bytes)
            number = None
            if plan.counts[index] and not output:
                number = node.value if node.value is not None else control.counted(node, inputs)
            found.append(Value(buffer, tensor, number))
        return found

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
        if buffer.address is not None:
            self.journal.freed(buffer, self.chunks.held_bytes(buffer.address))
            self.chunks.free(buffer.address)
            self._live.discard(buffer)
        for each in buffer.items or ():
            self.release(each)

    def allocate(self, name: str, kind: str, tensor: Tensor) -> Buffer | None:
        """Memory for a tensor; None where it has no elements."""
        count = tensor.bytes
        return self._new(name, kind, count) if count else None

    def _new(self, name: str, kind: str, count_bytes: int) -> Buffer:
        buffer = Buffer(name, kind, count_bytes, self._address(count_bytes))
        self._live.add(buffer)
        self.journal.made(buffer, self.chunks)
        return buffer

    def _address(self, count_bytes: int) -> int:
        """A chunk; under a limit a worker waits while others still run and may free some, as TensorFlow's does."""
        while True:
            try:
                return self.chunks.allocate(count_bytes)
            except FullError:
                if self._workers is None or not self._workers.wait():
                    raise

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

    def adopted(self, buffer: Buffer, variable: Buffer) -> None:
        """A buffer that becomes a variable's own."""
        count = 0 if buffer.address is None else self.chunks.held_bytes(buffer.address)
        self.journal.freed(buffer, count)
        buffer.kind, buffer.name = variable.kind, variable.name
        self.journal.made(buffer, self.chunks)

    def constant(self, node: Node) -> Buffer | None:
        """Constants are made once and stay."""
        if id(node) not in self._constants:
            made = self.allocate(node.name, "other", node.outputs[0])
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


def _dying(node: Node, inputs: list[Value], wanted: Tensor, count_bytes: int) -> Buffer | None:
    """An input's buffer that only this reader refers to, and that has the right size."""
    for each in inputs[:1] if node.op in kernels.FIRST_ONLY else inputs:
        buffer = each.buffer
        if buffer is None or buffer.references > 1 or buffer.bytes != count_bytes:
            continue
        if each.tensor.item_bytes == wanted.item_bytes:
            return buffer
    return None
