"""Who gets how much of a budget: pure, without TensorFlow."""

from __future__ import annotations

import pytest

from crashcart.pipeline.bounded_plan import Buffer, CannotBoundError, Part, needed_budget, planned, usable_bytes
from crashcart.units import MIB, size

BATCH = Buffer((0, "batch"), "batch(32)", Part.FIXED, 2, 2, 10 * MIB)
CALLS = Buffer((1, "calls"), "map(decode)", Part.CALLS, 4, 1, MIB)
AHEAD = Buffer((2, "ahead"), "prefetch(100)", Part.AHEAD, 100, 1, 10 * MIB)
SHUFFLE = Buffer((3, "shuffle"), "shuffle(1000)", Part.SHUFFLE, 1000, 1, MIB)
CACHE = Buffer((4, "cache"), "cache()", Part.CACHE, 500, 0, MIB, steps=(500,))
ALL = [BATCH, CALLS, AHEAD, SHUFFLE, CACHE]


def test_everything_gets_what_it_asks_for_where_there_is_room() -> None:
    plan = planned(ALL, 10_000 * MIB)
    assert plan.counts == {each.key: each.wanted for each in ALL}
    assert plan.held_bytes == sum(each.bytes_with(each.wanted or 0) for each in ALL)


def test_a_small_budget_is_never_exceeded_and_the_shuffle_gives_way_before_speed_does() -> None:
    plan = planned(ALL, 600 * MIB)
    assert plan.held_bytes <= plan.usable_bytes == usable_bytes(600 * MIB)
    assert plan.counts[1, "calls"] == 4
    assert plan.counts[2, "ahead"] == 2
    assert 1 < plan.counts[3, "shuffle"] < 1000


def test_a_cache_is_kept_whole_or_not_at_all() -> None:
    assert planned([BATCH, CACHE], 700 * MIB).counts[4, "cache"] == 0
    assert planned([BATCH, CACHE], 1200 * MIB).counts[4, "cache"] == 500


def test_a_cache_without_a_known_end_is_never_kept() -> None:
    endless = Buffer((4, "cache"), "cache()", Part.CACHE, None, 0, 1)
    plan = planned([endless], 10_000 * MIB)
    assert plan.counts[4, "cache"] == 0


def test_what_cannot_fit_is_refused_with_the_budget_that_it_needs() -> None:
    with pytest.raises(CannotBoundError, match=r"20\.0 MiB of it at batch\(32\)") as refused:
        planned(ALL, 70 * MIB)
    needed = needed_budget(sum(each.bytes_with(each.least) for each in ALL))
    assert planned(ALL, needed + 2).held_bytes <= needed
    assert "needs a budget of" in str(refused.value)


def test_the_least_of_a_budget_is_what_the_runtime_takes() -> None:
    assert usable_bytes(10 * MIB) < 0


def test_tensors_that_exist_take_their_part_and_the_budget_is_told_as_it_was_given() -> None:
    beside = 300 * MIB
    assert planned(ALL, 900 * MIB, beside).counts == planned(ALL, 600 * MIB).counts
    with pytest.raises(CannotBoundError, match="the budget is 370 MiB") as refused:
        planned(ALL, 70 * MIB + beside, beside)
    least = sum(each.bytes_with(each.least) for each in ALL)
    assert f"needs a budget of {size(needed_budget(least) + beside)}" in str(refused.value)
