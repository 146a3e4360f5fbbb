"""What was walked once is played on other allocators, and gives what a walk on them would."""

from __future__ import annotations

import gc
import weakref

import pytest

from crashcart.fit import host
from crashcart.fit.chunks import Chunks, FullError
from crashcart.fit.estimate import lives, most_held
from crashcart.fit.heap import Heap
from crashcart.fit.tape import Player, Tape
from crashcart.fit.walk import Plans, Walk
from crashcart.graph import Graph, Node, Tensor, Variable

UNIT = 64 << 10
BIG = Tensor((UNIT // 4,), 4)


def chain(length: int = 4) -> Graph:
    """Products one after another, and a constant that is made in the first step and stays."""
    nodes = [Node("x", "Placeholder", outputs=(BIG,)), Node("c", "Const", outputs=(BIG,))]
    nodes += [Node("y0", "MatMul", ((0, 0), (1, 0)), outputs=(BIG,))]
    nodes += [Node(f"y{each}", "MatMul", ((each + 1, 0),), outputs=(BIG,)) for each in range(1, length)]
    return Graph(tuple(nodes), (0,), ((length + 1, 0),))


def wide(count: int = 12, assigns: bool = False) -> Graph:
    """Products side by side: which one ends first is chance. The last may become the value of a variable."""
    nodes = [Node("x", "Placeholder", outputs=(BIG,))]
    for each in range(count):
        tensor = Tensor((UNIT // 4 * (1 + each % 3),), 4)
        nodes.append(Node(f"y{each}", "MatMul", ((0, 0),), outputs=(tensor,)))
        nodes.append(Node(f"z{each}", "MatMul", ((len(nodes) - 1, 0),), outputs=(BIG,)))
    if not assigns:
        return Graph(tuple(nodes), (0,))
    nodes.append(Node("v", "VarHandleOp", outputs=(Tensor((), 0),), variable="v"))
    nodes.append(Node("assign", "AssignVariableOp", ((len(nodes) - 1, 0), (len(nodes) - 2, 0))))
    return Graph(tuple(nodes), (0,), variables=(Variable("v", UNIT, "weights"),))


def assigned() -> Graph:
    """A variable takes over a new value at each step, and its old one is freed."""
    nodes = (
        Node("x", "Placeholder", outputs=(BIG,)),
        Node("v", "VarHandleOp", outputs=(Tensor((), 0),), variable="v"),
        Node("y", "MatMul", ((0, 0),), outputs=(BIG,)),
        Node("assign", "AssignVariableOp", ((1, 0), (2, 0))),
    )
    return Graph(nodes, (0,), variables=(Variable("v", UNIT, "weights"),))


def walked(graph: Graph, steps: int = 3, chunks: Chunks | None = None) -> Walk:
    walk = Walk(graph, cores=2, chunks=chunks)
    for _ in range(steps):
        walk.step([BIG])
    return walk


@pytest.mark.parametrize("graph", [chain(), wide(), assigned()], ids=["chain", "wide", "assigned"])
@pytest.mark.parametrize("kind", [Chunks, Heap])
def test_a_tape_played_on_an_allocator_gives_what_a_walk_on_it_does(graph: Graph, kind: type[Chunks]) -> None:
    plain, played = kind(), kind()
    walked(graph, chunks=plain)
    player = Player(played)
    for tape in walked(graph).tapes:
        player.play(tape)
    assert (played.used_bytes, played.peak_bytes) == (plain.used_bytes, plain.peak_bytes)


def test_a_tape_does_not_find_room_where_there_is_none() -> None:
    player = Player(Chunks(UNIT))
    with pytest.raises(FullError):
        for tape in walked(chain()).tapes:
            player.play(tape)


def test_a_step_that_gives_back_what_it_takes_is_closed_and_can_be_played_again() -> None:
    tapes = walked(chain()).tapes
    assert tapes[2].closed
    chunks = Chunks()
    player = Player(chunks)
    for tape in (*tapes, *tapes[-1:] * 4):
        player.play(tape)
    plain = Chunks()
    walked(chain(), steps=7, chunks=plain)
    assert (chunks.used_bytes, chunks.peak_bytes) == (plain.used_bytes, plain.peak_bytes)


def test_a_step_that_keeps_something_or_frees_what_was_there_before_is_not() -> None:
    assert not walked(chain()).tapes[1].closed  # the constant stays
    assert not walked(assigned()).tapes[2].closed  # as much is freed as is taken, but not the same


def test_steps_that_do_the_same_have_the_same_entries_and_others_do_not() -> None:
    alike, other = walked(chain()).tapes, walked(chain(5)).tapes
    assert alike[2].entries == alike[3].entries
    assert alike[2].entries != other[2].entries
    assert alike[1].entries != alike[2].entries


def test_of_a_block_only_what_is_written_to_is_touched() -> None:
    tape = Tape(0)
    tape.entries.extend([100 * UNIT, UNIT])
    tape.touched[0] = UNIT
    whole, part = Heap(), Heap()
    Player(whole).play(tape)
    Player(part).touch(tape)
    assert whole.used_bytes > 100 * UNIT
    assert part.used_bytes < 3 * UNIT
    assert tape.entries[0] == 100 * UNIT


def test_onednn_takes_its_own_memory_where_its_kernel_begins() -> None:
    tape = Tape(0)
    for each in (UNIT, 2 * UNIT):
        tape.packs(100 * UNIT)
        tape.entries.append(each)
    asked = Asked()
    Player(asked).touch(tape, onednn=True)
    assert asked.said == [("outside", 100 * UNIT), UNIT, ("outside", 100 * UNIT), 2 * UNIT]
    plain = Asked()
    Player(plain).touch(tape)
    assert plain.said == [UNIT, 2 * UNIT]


def test_a_batch_goes_when_the_next_one_is_there() -> None:
    tape = Tape(0)
    tape.entries.extend([3 * UNIT, UNIT])  # the batch, and what is made of it
    tape.given_back(1)
    tape.given_back(0)
    late, soon = Chunks(), Chunks()
    for chunks, held in ((late, 1), (soon, 0)):
        player = Player(chunks)
        for _ in range(3):
            player.touch(tape, late=held)
    assert late.peak_bytes == 2 * 3 * UNIT
    assert late.used_bytes == 3 * UNIT
    assert (soon.peak_bytes, soon.used_bytes) == (4 * UNIT, 0)


class Asked(Chunks):
    """Writes down what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[object] = []

    def allocate(self, requested_bytes: int) -> int:
        self.said.append(requested_bytes)
        return super().allocate(requested_bytes)

    def outside(self, requested_bytes: int) -> int:
        self.said.append(("outside", requested_bytes))
        return super().allocate(requested_bytes)


def test_steps_that_do_the_same_are_not_walked_again() -> None:
    plain, chance = (Walk(graph, cores=2) for graph in (chain(), wide()))
    most_held(plain, "train", steps=5)
    most_held(chance, "train", steps=5)
    assert len(plain.tapes) == 1 + 3
    assert len(chance.tapes) == 1 + 5


@pytest.mark.parametrize("limit", [12 * UNIT, 40 * UNIT, 400 * UNIT])
def test_whether_a_step_lives_is_the_same_with_its_walk_and_without(limit: int) -> None:
    fresh, known = Plans(wide(), 2), Plans(wide(), 2)
    known.walks[0, False] = Walk(known.graph, 2, 0, plans=known)
    most_held(known.walks[0, False], "train")
    assert lives(known, "train", limit) == lives(fresh, "train", limit)


def test_the_figure_of_the_host_is_the_same_whether_others_walked_before_or_not() -> None:
    fresh, known = (Plans(wide(assigns=True), 2) for _ in range(2))
    for seed in range(host.TRIALS):
        known.walks[seed, False] = Walk(known.graph, 2, seed, plans=known)
        most_held(known.walks[seed, False], "train")
    assert host.parts(known.graph, "train", 2, known) == host.parts(fresh.graph, "train", 2, fresh)


def test_the_figure_of_the_host_comes_from_the_walks_that_there_are_where_their_steps_can_be_played_again() -> None:
    plans = Plans(chain(), 2)
    plans.walks[0, True] = Walk(plans.graph, 2, 0, plans=plans)
    most_held(plans.walks[0, True], "predict")
    steps = len(plans.walks[0, True].tapes)
    host.parts(plans.graph, "predict", 2, plans)
    assert list(plans.walks) == [(0, True)]
    assert len(plans.walks[0, True].tapes) == steps
    plans = Plans(assigned(), 2)
    host.parts(plans.graph, "train", 2, plans)
    assert len(plans.walks) == host.TRIALS
    assert len(plans.walks[0, False].tapes) == 1 + host.STEPS


def test_a_step_prepared_goes_with_its_last_user() -> None:
    plans = Plans(chain(), 2)
    host.parts(plans.graph, "predict", 2, plans)
    gone = weakref.ref(plans.prepared)
    gc.disable()
    try:
        del plans
        assert gone() is None
    finally:
        gc.enable()
