"""The ladder as a table: from figures to steps, with nothing of the world in it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crashcart.guard.policy import (
    CALM_S,
    FULL_SHARE,
    PYTHON_BYTES,
    SPARSE_CPU_S,
    SPARSE_SLOW_CPU_S,
    STOP_S,
    TRIM_S,
    Decision,
    State,
    Step,
    View,
    decide,
    reserve_bytes,
)
from crashcart.units import GIB, MIB

LIMIT = 3 * GIB
RESERVE = reserve_bytes(LIMIT)
CALM = View(1.0, GIB, LIMIT, bound_bytes=6 * GIB, held_bytes=GIB)
SHORT = replace(CALM, used_bytes=LIMIT - RESERVE + MIB)


def after(*views: View, stop: bool = False) -> Decision:
    """The decision at the last of the views."""
    state = State()
    for view in views:
        decision = decide(state, view, stop)
        state = decision.state
    return decision


@pytest.mark.parametrize(
    ("limit", "reserve"),
    [
        (100 * MIB, 7 * MIB),
        (300 * MIB, 12 * MIB),
        (3 * GIB, int(0.04 * 3 * GIB)),
        (24 * GIB, 512 * MIB),
        (1024 * GIB, 512 * MIB),
    ],
)
def test_the_reserve_is_a_share_within_bounds(limit: int, reserve: int) -> None:
    assert reserve_bytes(limit) == reserve


def test_far_from_the_limit_nothing_is_done_and_the_room_is_the_budget() -> None:
    decision = after(CALM)
    assert (decision.steps, decision.left_bytes, decision.longest_look_s) == ((), 2 * GIB - RESERVE, None)


@pytest.mark.parametrize("share", [0.5, 0.8, 0.92])
def test_rightful_use_is_never_disturbed(share: float) -> None:
    view = replace(CALM, used_bytes=int(share * LIMIT))
    assert set(after(view, replace(view, at_s=2.0)).steps) <= {Step.READY}


def test_memory_that_was_given_out_and_not_touched_is_promised() -> None:
    given = replace(CALM, at_s=1.01, net_bytes=GIB)
    assert after(CALM, given).left_bytes == GIB - RESERVE


def test_touching_what_was_promised_turns_it_into_use() -> None:
    given = replace(CALM, at_s=1.01, net_bytes=GIB)
    touched = replace(given, at_s=1.2, used_bytes=int(1.5 * GIB))
    assert after(CALM, given, touched).left_bytes == GIB - RESERVE


def test_a_promise_that_is_not_touched_lapses() -> None:
    given = replace(CALM, at_s=1.01, net_bytes=GIB)
    later = replace(given, at_s=9.0, cpu_s=SPARSE_CPU_S)
    assert after(CALM, given, later).left_bytes == 2 * GIB - RESERVE
    waiting = replace(given, at_s=9.0)
    assert after(CALM, given, waiting).left_bytes == GIB - RESERVE, "a program that waits touches nothing"


def test_a_program_on_its_airbag_has_longer_to_touch_what_it_was_promised() -> None:
    given = replace(CALM, at_s=1.01, net_bytes=GIB, airbag_bytes=GIB)
    assert after(CALM, given, replace(given, at_s=9.0, cpu_s=1.0)).left_bytes == GIB - RESERVE
    assert after(CALM, given, replace(given, at_s=9.0, cpu_s=SPARSE_SLOW_CPU_S)).left_bytes == 2 * GIB - RESERVE


def test_use_that_falls_by_itself_promises_nothing() -> None:
    high = replace(CALM, used_bytes=2 * GIB, net_bytes=GIB)
    ended = replace(high, at_s=1.1, used_bytes=GIB)
    assert after(high, ended).left_bytes == 2 * GIB - RESERVE


def test_freeing_what_was_touched_leaves_other_promises() -> None:
    given = replace(CALM, at_s=1.01, used_bytes=GIB + 512 * MIB, net_bytes=GIB)
    freed = replace(given, at_s=1.02, used_bytes=GIB, net_bytes=512 * MIB)
    assert after(CALM, given, freed).left_bytes == 2 * GIB - 512 * MIB - RESERVE


def test_freeing_what_was_promised_ends_the_promise() -> None:
    given = replace(CALM, at_s=1.01, net_bytes=GIB)
    freed = replace(CALM, at_s=1.02)
    assert after(CALM, given, freed).left_bytes == 2 * GIB - RESERVE


def test_what_an_ended_process_never_touched_is_promised_no_longer() -> None:
    given = replace(CALM, at_s=1.01, net_bytes=GIB)
    ended = replace(given, at_s=1.02, untouched_bytes=512 * MIB)
    assert after(CALM, given, ended).left_bytes == GIB + 512 * MIB - RESERVE
    assert after(CALM, given, ended, replace(ended, at_s=1.03)).left_bytes == GIB + 512 * MIB - RESERVE, "once"
    larger = replace(ended, limit_bytes=2 * LIMIT)
    assert after(CALM, given, larger).left_bytes == larger.room_bytes - 512 * MIB, "also while the limit changes"


def test_without_room_small_blocks_are_squeezed_until_there_is_room_again() -> None:
    assert Step.SQUEEZE in after(CALM, SHORT).steps
    assert Step.SQUEEZE not in after(CALM, SHORT, replace(SHORT, at_s=1.1)).steps
    barely = replace(SHORT, at_s=1.2, used_bytes=int(LIMIT - 1.8 * RESERVE))
    assert Step.RELEASE not in after(CALM, SHORT, barely).steps, "no flutter at the edge"
    assert Step.RELEASE in after(CALM, SHORT, replace(CALM, at_s=1.3)).steps


def test_short_of_memory_the_looks_are_quick() -> None:
    assert after(CALM, SHORT).longest_look_s is not None


def test_the_first_bytes_on_disk_are_told_once() -> None:
    landed = replace(SHORT, airbag_bytes=2 * MIB)
    assert Step.WARN in after(CALM, landed).steps
    assert Step.WARN not in after(CALM, landed, replace(landed, at_s=1.5, airbag_bytes=GIB)).steps


def test_native_code_may_finish_on_the_airbag() -> None:
    on_disk = replace(SHORT, at_s=2.0, airbag_bytes=2 * GIB)
    assert Step.RAISE not in after(CALM, SHORT, on_disk).steps


def test_growth_of_python_objects_raises_soon() -> None:
    grown = replace(SHORT, at_s=1.1, airbag_bytes=PYTHON_BYTES, python_bytes=PYTHON_BYTES)
    assert Step.RAISE in after(CALM, SHORT, grown).steps
    churned = replace(grown, airbag_bytes=MIB, python_bytes=100 * PYTHON_BYTES)
    assert Step.RAISE not in after(CALM, SHORT, churned).steps, "taken and given back is not growth"


def test_an_airbag_that_is_nearly_full_raises() -> None:
    full = replace(SHORT, at_s=1.1, airbag_bytes=int(FULL_SHARE * 6 * GIB) + 1)
    assert Step.RAISE in after(CALM, SHORT, full).steps


def test_without_an_airbag_the_exception_follows_the_second_short_look() -> None:
    bare = replace(SHORT, bound_bytes=0)
    assert Step.RAISE not in after(replace(CALM, bound_bytes=0), bare).steps
    grown = replace(bare, at_s=1.05, held_bytes=GIB + 4 * MIB)
    assert Step.RAISE in after(replace(CALM, bound_bytes=0), bare, grown).steps
    assert Step.RAISE not in after(replace(CALM, bound_bytes=0), bare, replace(bare, at_s=1.05)).steps, "others grew"


def test_a_program_that_holds_little_is_not_blamed_for_what_others_use() -> None:
    small = replace(SHORT, held_bytes=100 * MIB, bound_bytes=0, largest_bytes=100 * MIB, rival_bytes=GIB)
    decision = after(small, replace(small, at_s=1.1), replace(small, at_s=1.2, held_bytes=120 * MIB))
    assert (decision.steps, decision.left_bytes) == ((), GIB - 100 * MIB)
    assert Step.RELEASE in after(CALM, SHORT, replace(small, at_s=1.1)).steps


def test_the_exception_is_asked_for_again_until_it_was_raised_and_then_not_for_a_while() -> None:
    bare = [replace(SHORT, bound_bytes=0, at_s=1.0 + step / 20, held_bytes=GIB + 4 * MIB * step) for step in range(4)]
    assert Step.RAISE in after(*bare).steps
    raised = replace(bare[-1], at_s=1.3, raised_count=1)
    assert Step.RAISE not in after(*bare, raised).steps
    assert Step.RAISE not in after(*bare, raised, replace(raised, at_s=1.3 + CALM_S / 2)).steps
    assert Step.RAISE in after(*bare, raised, replace(raised, at_s=1.31 + CALM_S)).steps


def test_a_second_shortage_raises_at_once_if_the_first_was_over() -> None:
    bare = [replace(SHORT, bound_bytes=0, at_s=1.0 + step / 20, held_bytes=GIB + 4 * MIB * step) for step in range(4)]
    raised = replace(bare[-1], at_s=1.3, raised_count=1)
    over = replace(CALM, bound_bytes=0, at_s=1.4, raised_count=1)
    again = [replace(raised, at_s=1.5), replace(raised, at_s=1.55, held_bytes=2 * GIB)]
    assert Step.RAISE in after(*bare, raised, over, *again).steps


def test_memory_is_given_back_some_time_after_a_refusal() -> None:
    refused = replace(CALM, at_s=1.1, refused_count=1)
    assert Step.TRIM not in after(CALM, refused).steps
    assert Step.TRIM in after(CALM, refused, replace(refused, at_s=1.15 + TRIM_S)).steps


def test_a_program_is_stopped_only_where_that_was_asked_for() -> None:
    bare = [
        replace(SHORT, bound_bytes=0, at_s=1.0 + step / 20, held_bytes=GIB + 4 * MIB * step)
        for step in range(int(20 * STOP_S) + 20)
    ]
    state, taken = State(), []
    for view in bare:
        decision = decide(state, view, stop=True)
        state = decision.state
        taken += decision.steps
    assert taken.count(Step.STOP) == 1
    assert Step.STOP not in after(*bare).steps


def stubborn(period_s: float, given_back_bytes: int) -> list[Step]:
    """What is done to a program that takes each exception at once and grows again, in eight seconds."""
    state, taken, raised, held = State(), [], 0, GIB
    for look in range(160):
        held += 4 * MIB
        if look % int(20 * period_s) == 0:
            held -= given_back_bytes
        view = replace(SHORT, bound_bytes=0, at_s=1.0 + look / 20, held_bytes=held, raised_count=raised)
        decision = decide(state, view, stop=True)
        state = decision.state
        raised += Step.RAISE in decision.steps
        taken += decision.steps
    return taken


def test_stopping_counts_from_the_first_request_whatever_the_program_catches() -> None:
    taken = stubborn(1.0, 0)
    assert taken.count(Step.STOP) == 1 and taken.count(Step.RAISE) > 1
    first, stop = taken.index(Step.RAISE), taken.index(Step.STOP)
    assert Step.RAISE in taken[first + 1 : stop], "it took an exception in between"


def test_a_program_that_becomes_smaller_is_not_stopped() -> None:
    taken = stubborn(2.5, 2 * RESERVE)
    assert Step.STOP not in taken and taken.count(Step.RAISE) > 1


def test_getting_ready_is_asked_for_once_per_shortage() -> None:
    view = replace(CALM, used_bytes=int(0.8 * LIMIT))
    assert Step.READY in after(CALM, view).steps
    assert Step.READY not in after(CALM, view, replace(view, at_s=2.0)).steps
