"""A step once more on the same allocator, against the same step walked."""

from __future__ import annotations

import pytest

from crashcart.fit import estimate
from crashcart.fit.again import again
from crashcart.fit.chunks import Chunks
from crashcart.fit.tape import Player
from crashcart.fit.walk import Walk
from crashcart.graph import Graph, Node
from tests.unit.fit.test_tape import BIG, assigned, chain, wide
from tests.unit.fit.test_walk import recurrent


def stepped(graph: Graph, written: bool = True) -> Walk:
    walk = Walk(graph, cores=2, written=written)
    walk.step([BIG])
    return walk


def test_a_step_without_chance_is_again_what_a_second_walk_gives() -> None:
    plain, played = stepped(chain()), stepped(chain())
    second, found = plain.step([BIG]), again(played)
    assert found is not None
    assert (found.bytes, found.held(), found.moments()) == (second.bytes, second.held(), second.moments())
    assert played.tapes[-1].entries == plain.tapes[-1].entries
    assert played.tapes[-1].operations == plain.tapes[-1].operations
    assert played.chunks.used_bytes == plain.chunks.used_bytes


@pytest.mark.parametrize("graph", [wide(), recurrent(50)], ids=["wide", "recurrent"])
def test_it_can_be_played_and_walked_on_from(graph: Graph) -> None:
    walk = stepped(graph)
    used_bytes = walk.chunks.used_bytes
    found = again(walk)
    assert found is not None
    assert found.bytes > used_bytes
    assert walk.chunks.used_bytes == used_bytes
    assert walk.tapes[-1].closed
    walk.step([BIG])
    chunks = Chunks()
    player = Player(chunks)
    for tape in walk.tapes:
        player.play(tape)
    assert (chunks.used_bytes, chunks.peak_bytes) == (walk.chunks.used_bytes, walk.chunks.peak_bytes)


def test_what_its_kernels_take_stays_with_it() -> None:
    """Where a constant that stays is not made again, places move."""
    walk = stepped(chain())
    tape = walk.tapes[-1]
    tape.packed, tape.scratch = [(0, 5), (2, 7), (len(tape.entries), 9)], [0, len(tape.entries) - 1]
    assert again(walk) is not None
    fresh = walk.tapes[-1]
    assert len(fresh.entries) == len(tape.entries) - 1
    assert fresh.packed == [(0, 5), (1, 7), (len(fresh.entries), 9)]
    assert fresh.scratch == [0, len(fresh.entries) - 1]


def test_a_step_that_gives_a_variable_another_block_is_not_had_so() -> None:
    walk = stepped(assigned())
    assert again(walk) is None
    assert len(walk.tapes) == 2


def test_nor_one_of_which_no_journal_was_kept() -> None:
    assert again(stepped(chain(), written=False)) is None


def test_where_there_is_time_for_two_steps_alone_the_second_is_the_first_again() -> None:
    short, long = Walk(wide(), cores=2), Walk(wide(), cores=2)
    estimate.most_held(short, "predict", most_operations=short_of(long.graph.nodes))
    assert short.operations == short.tapes[1].operations
    assert len(short.tapes) == 3
    estimate.most_held(long, "predict")
    assert long.operations > 2 * long.tapes[1].operations


def short_of(nodes: tuple[Node, ...]) -> int:
    """Fewer operations than two steps have."""
    return 2 * len(nodes) - 3
