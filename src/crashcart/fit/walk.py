"""A walk over one step, the way TensorFlow's executor goes: an operation runs when its inputs are there, a tensor is freed
after its last reader.

Covers: aliases, reuse of dying inputs, variables and their copies, scratch, waiting for memory under a limit; a journal of what
is held.
Does not cover: order (`schedule.py`), loops (`loop.py`), the sizes themselves (`graph.py`), or several devices.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from random import Random

from crashcart.fit import control
from crashcart.fit.chunks import Chunks, FullError
from crashcart.fit.frame import ENTERS, PLAIN, Frame, Known, Plan, Prepared, shuffled
from crashcart.fit.guesses import sized
from crashcart.fit.journal import Journal
from crashcart.fit.loop import Loop
from crashcart.fit.schedule import Item, Workers
from crashcart.fit.tape import Tape
from crashcart.fit.values import NOTHING, Buffer, Value
from crashcart.graph import Graph, Node, Tensor, Variable

# How much longer or shorter than expected an operation may take: which of two operations ends first is chance, and the peak
# depends on it. Real steps of one program differ by as much as those that are drawn so.
HASTE = (0.5, 2.0)
_LEAST_HASTE, _HASTE_RANGE = HASTE[0], HASTE[1] - HASTE[0]

Begun = tuple[list[Value], list[Value], Buffer | None, float]
"""An operation that runs: its inputs, its outputs, its scratch, and how long it runs in seconds."""


class Plans:
    """A step prepared, with the walks over it that others can make use of. No walk refers to it, so that they go with it."""

    def __init__(self, graph: Graph, cores: int, optimizers: Collection[str] = ()) -> None:
        self.graph, self.cores = graph, cores
        self.prepared = Prepared(graph, cores, optimizers)
        self.walks: dict[tuple[int, bool], Walk] = {}
        """Those without a limit, by their seed and whether their steps hold the batch: what they have on tape need not be walked
        again."""


class Walk:
    """One device: its allocator, its variables, and the step that runs on it."""

    def __init__(
        self,
        graph: Graph,
        cores: int = 2,
        seed: int = 0,
        chunks: Chunks | None = None,
        plans: Plans | None = None,
        written: bool = True,
        moved: float = 0.0,
    ) -> None:
        """`written` says whether a journal is kept; the allocator's own figures are there without. `moved` is the part of all
        updates of variables that find somebody reading the old value still, so that the new one lies elsewhere."""
        self.graph, self.cores = graph, cores
        self.chunks = Chunks() if chunks is None else chunks
        self._allocate, self._free = self.chunks.allocate, self.chunks.free
        self.operations = 0
        self.tapes = [Tape(0)]
        """Before the first step, and of each step."""
        self.journal = Journal()
        self.written, self._moved = written, moved
        self._prepared = Prepared(graph, cores) if plans is None else plans.prepared
        self._readers: dict[Plan, list[list[int]]] = {}
        self._random = Random(seed)
        self._draw = self._random.random
        self._workers: Workers | None = None
        self._tape, self._taken = self.tapes[0], 0
        self.live: set[Buffer] = set()
        """What is held, where a journal is kept."""
        self._constants: dict[int, Buffer] = {}
        self.gathered: set[str] = set()
        """Variables that single rows were read of: TensorFlow copies what is read of them whole from then on."""
        self.asks: Callable[[list[Value]], int | None] | None = None
        """Answers where a loop's condition has a side that only the data decides, while one is run."""
        self._new("runtime", "other", 8)  # TensorFlow's own first tensor opens the first region
        self.variables = {each.name: self._resident(each) for each in graph.variables}

    def step(self, inputs: Sequence[Tensor], held: bool = False) -> Journal:
        """Run one step on a fresh batch; returns what was held when. `held`: the caller keeps the batch to the end, as `predict`
        does, where training takes it from an iterator. FullError where the allocator's limit is too low."""
        before = self.operations
        self.journal = Journal(self.live, self.chunks)
        self._tape = Tape(self._taken)
        self.tapes.append(self._tape)
        handed = [Value(self.allocate("input", "input", each), each) for each in inputs]
        plan = self._prepared.step
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
        self._tape.operations = self.operations - before
        return self.journal

    def done(self, tape: Tape, taken: int) -> None:
        """A step that somebody else ran on this allocator, with the blocks that it took."""
        self.tapes.append(tape)
        self._taken += taken

    def _arrived(self, frame: Frame, handed: Sequence[Value]) -> list[Item]:
        """What is ready now that the batch is there."""
        given = zip(frame.plan.arguments, handed, strict=True)
        return [item for index, value in given for item in self.complete(frame, index, [value])]

    def run(self, plan: Plan, arguments: Sequence[Value]) -> list[Value]:
        """Run a graph to its end, one operation after another; takes over the references of its arguments and hands out
        those of its results."""
        for value, heard in zip(arguments, plan.heard, strict=True):
            if not heard:
                self.release(value)
        return self.run_heard(plan, [arguments[position] for position in plan.heard_at])

    def run_heard(self, plan: Plan, arguments: Sequence[Value]) -> list[Value]:
        """The same with those arguments alone that are read or waited for."""
        frame = self.frame(plan)
        ready = deque([(frame, index) for index in plan.roots])
        for position, value in zip(plan.heard_at, arguments, strict=True):
            ready.extend(self.complete(frame, plan.arguments[position], [value]))
        while ready:
            of, index = ready.popleft()
            ready.extend(self.finish(of, index, self.begin(of, index)))
        return [frame.values[each] for each in plan.results]

    def taken_as(self, loop: str, turns: int, limited: bool) -> None:
        """A loop whose end the data decides has ended here after so many turns, which may be its limit."""
        self._prepared.turns[loop] = turns, limited

    def plan_of(self, function: str) -> Plan:
        """A function of the graph, prepared."""
        return self._prepared.function(function)

    def frame(self, plan: Plan, loop: Loop | None = None, turn: int = 0) -> Frame:
        """A run of a graph in which nothing has been done yet."""
        readers = self._readers.get(plan)
        if readers is None:
            readers = self._readers[plan] = shuffled(plan.readers, self._random)
        return Frame(plan, readers, loop, turn)

    def begin(self, frame: Frame, index: int) -> Begun:
        """Take the inputs, allocate outputs and scratch."""
        self.operations += 1
        plan = frame.plan
        name, slots, special, known = plan.begins[index]
        if self.written:
            self.journal.entries.append(name)
        inputs = _taken(frame, slots) if slots else []
        if known is None:
            known = self._seen(plan, index, inputs)
        if special is not None:
            outputs = special(self, known.node, inputs)
        elif known.alias:
            outputs = _aliased(plan.nodes[index], inputs)
        else:
            outputs = self._allocated(plan, index, inputs, known)
        if known.packed_bytes:
            self._tape.packs(known.packed_bytes)
        scratch = self._scratch(name, known) if known.scratch_bytes else None
        return inputs, outputs, scratch, known.seconds * (_LEAST_HASTE + _HASTE_RANGE * self._draw())

    def _scratch(self, name: str, known: Known) -> Buffer:
        first, *others = known.scratch_parts
        buffer = self._new(name, "scratch", first)
        if others:  # they go with the first one
            buffer.items = [Value(self._new(name, "scratch", each), NOTHING.tensor) for each in others if each]
        self._tape.scratched(known.touched_bytes, known.scratch_bytes)
        return buffer

    def _seen(self, plan: Plan, index: int, inputs: list[Value]) -> Known:
        """What is known of an operation now that its inputs are there; in a loop it is the same at each turn."""
        key = (index, *((each.tensor.shape, each.tells) for each in inputs))
        found = plan.seen.get(key)
        if found is None:
            node = plan.nodes[index]
            sizes = [sized(node, inputs, each) if each.shape is None else (each, True) for each in node.outputs]
            made = replace(node, outputs=tuple(each for each, _ in sizes))
            found = plan.seen[key] = Known(made, [each.tensor for each in inputs], self.cores, self.graph.cache_bytes)
            if not all(sure for _, sure in sizes) and plan.special[index] is None:
                found.alias = False  # a guess as large as the input does not say that there is nothing to do
                guess = sum(each.bytes or 0 for each, sure in sizes if not sure)
                self._prepared.unsure[node.name] = max(guess, self._prepared.unsure.get(node.name, 0))
        return found

    def finish(self, frame: Frame, index: int, begun: Begun) -> list[Item]:
        """Free scratch and inputs, hand the outputs on; returns what is ready now."""
        inputs, outputs, scratch, _ = begun
        if scratch is not None:
            self.drop(scratch)
        end = frame.plan.ends[index]
        if end == PLAIN:
            for value in inputs:
                buffer = value.buffer
                if buffer is None:
                    continue
                if buffer.references > 1:
                    buffer.references -= 1
                else:
                    self.drop(buffer)
        elif end == ENTERS:
            return self.complete(frame, index, []) + self._entered(frame, frame.plan.nodes[index], inputs[0])
        return self.complete(frame, index, outputs)

    def _entered(self, frame: Frame, node: Node, value: Value) -> list[Item]:
        which: int = node.attributes["loop"]
        if which not in frame.loops:
            frame.loops[which] = Loop(self, frame, which)
        return frame.loops[which].give(0, node.attributes["position"], value)

    def complete(self, frame: Frame, index: int, outputs: list[Value]) -> list[Item]:
        """An operation has given out its outputs; returns what is ready now, in this run and in those it hands on to."""
        slot, loop = frame.plan.first_slot[index], frame.loop
        values, owed = frame.values, frame.owed
        ready: list[Item] = []
        for value in outputs:
            if owed[slot]:
                values[slot] = value
                if loop is not None and slot in frame.plan.result_slots:
                    for position in frame.plan.result_slots[slot]:
                        ready += loop.give(frame.turn + 1, position, _taken(frame, (slot,))[0])
            elif value.buffer is not None:
                self.drop(value.buffer)
            slot += 1
        pending = frame.pending
        for reader in frame.readers[index]:
            left = pending[reader] = pending[reader] - 1
            if not left:
                ready.append((frame, reader))
        frame.left -= 1
        if not frame.left and loop is not None:
            ready += loop.ended(frame.turn)
        return ready

    def _allocated(self, plan: Plan, index: int, inputs: list[Value], known: Known) -> list[Value]:
        found: list[Value] = []
        number: int | None = None
        if plan.counts[index]:
            node = plan.nodes[index]
            number = node.value if node.value is not None else control.counted(node, inputs)
            if number is None and self.asks is not None and node.op == "LogicalAnd":
                number = self.asks(inputs)
        for output, (tensor, count_bytes) in enumerate(known.outputs):
            buffer = None
            if output == known.reuses:
                buffer = _dying(inputs[:1] if known.first_only else inputs, tensor, count_bytes)
                if buffer is not None:
                    buffer.references += 1
            if buffer is None and count_bytes:
                buffer = self._new(plan.nodes[index].name, plan.kinds[index], count_bytes)
            found.append(Value(buffer, tensor, None if output else number))
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
            if self.written:
                self.journal.freed(buffer, buffer.held_bytes)
                self.live.discard(buffer)
            self._tape.given_back(buffer.number)
            self._free(buffer.address)
        for each in buffer.items or ():
            self.release(each)

    def allocate(self, name: str, kind: str, tensor: Tensor) -> Buffer | None:
        """Memory for a tensor; None where it has no elements."""
        count = tensor.bytes
        return self._new(name, kind, count) if count else None

    def _new(self, name: str, kind: str, count_bytes: int) -> Buffer:
        try:
            address = self._allocate(count_bytes)
        except FullError:
            address = self._awaited(count_bytes)
        buffer = Buffer(name, kind, count_bytes, address, self._taken)
        self._taken += 1
        self._tape.entries.append(count_bytes)
        if self.written:
            buffer.held_bytes = self.chunks.held_bytes(address)
            self.live.add(buffer)
            self.journal.made(buffer, buffer.held_bytes, self.chunks.used_bytes)
        return buffer

    def _awaited(self, count_bytes: int) -> int:
        """A chunk under a limit: a worker waits while others still run and may free some, as TensorFlow's does."""
        while self._workers is not None and self._workers.wait():
            try:
                return self._allocate(count_bytes)
            except FullError:
                continue
        raise FullError

    def moves(self) -> bool:
        """Whether a variable is updated on a copy though nobody was seen to read it."""
        return self._moved > 0 and self._draw() < self._moved

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
        if not self.written:
            return
        count = 0 if buffer.address is None else self.chunks.held_bytes(buffer.address)
        self.journal.freed(buffer, count)
        buffer.kind, buffer.name = variable.kind, variable.name
        self.journal.made(buffer, count, self.chunks.used_bytes)

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


def _taken(frame: Frame, slots: Sequence[int]) -> list[Value]:
    """The values, each with a reference of the reader's own: the frame's, if it is the last one to read it."""
    found = []
    values, owed = frame.values, frame.owed
    for slot in slots:
        value = values[slot]
        left = owed[slot] = owed[slot] - 1
        if not left:
            values[slot] = NOTHING
        elif value.buffer is not None:
            value.buffer.references += 1
        found.append(value)
    return found


def _aliased(node: Node, inputs: list[Value]) -> list[Value]:
    found = []
    for each, tensor in zip(inputs, node.outputs, strict=False):
        buffer = each.buffer
        if buffer is not None:
            buffer.references += 1
        seen = tensor if tensor.shape is not None else each.tensor
        found.append(Value(buffer, seen, each.number, each.variable, each.tells))
    return found


def _dying(inputs: list[Value], wanted: Tensor, count_bytes: int) -> Buffer | None:
    """An input's buffer that only this reader refers to, and that has the right size."""
    for each in inputs:
        buffer = each.buffer
        if buffer is None or buffer.references > 1 or buffer.bytes != count_bytes:
            continue
        if each.tensor.item_bytes == wanted.item_bytes:
            return buffer
    return None
