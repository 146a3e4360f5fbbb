"""What the benches of safety and of the largest batch conclude from runs."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from bench.fit.forked import Say, heard
from bench.fit.largest import between, decided, ratio, true_largest
from bench.fit.safety import decides


@pytest.mark.parametrize("start", [1, 60, 100, 104, 400])
def test_the_true_largest_batch_is_found_from_either_side_in_few_runs(start: int) -> None:
    seen: list[int] = []

    def lives(batch: int) -> bool:
        seen.append(batch)
        return batch <= 103

    lived, died = true_largest(lives, start)
    assert lived <= 103 < died <= 1.1 * lived
    assert len(seen) == len(set(seen)) <= 12


def test_none_is_found_where_none_lives() -> None:
    assert true_largest(lambda batch: False, 4) == (0, 1)


def test_a_run_under_another_limit_answers_only_where_it_must() -> None:
    lived, died = {"lived": True, "ran_under_bytes": 100}, {"lived": False, "ran_under_bytes": 100}
    assert decides(lived, 100)
    assert decides(lived, 120)
    assert not decides(lived, 90)
    assert decides(died, 90)
    assert not decides(died, 120)


@pytest.mark.parametrize(
    ("row", "least"),
    [({"found": 85, "lived": 90, "died": 101}, 0.85), ({"found": 8, "lived": 8, "died": 9}, 1.0)],
)
def test_what_was_found_is_compared_with_the_most_that_the_truth_may_be(row: dict[str, Any], least: float) -> None:
    assert ratio(row) == pytest.approx(least)


def _tells(say: Say, variable: str, end: bool) -> None:
    say({"found": os.environ.get(variable)})
    if end:
        os.kill(os.getpid(), signal.SIGKILL)
    raise ValueError("over")


def test_a_forked_child_is_heard_also_where_it_dies() -> None:
    before = {"CRASHCART_BENCH_TEST": "here"}
    assert heard(_tells, (*before, False), before, 60) == ([{"found": "here"}], "ValueError: over")
    assert heard(_tells, (*before, True), {}, 60) == ([{"found": None}], "ended with -9")


def test_a_batch_is_decided_by_one_above_that_lived_or_one_below_that_died() -> None:
    runs = {"60": True, "80": True, "90": False}
    assert decided(runs, 50) and decided(runs, 80)
    assert decided(runs, 95) is False and decided(runs, 90) is False
    assert decided(runs, 85) is None and decided({}, 1) is None
    assert between(runs | {"70": False}) == {"lived": 80, "died": 90}
    assert between({"4": False}) == {"lived": 0, "died": 4} and between({"4": True}) == {"lived": 4, "died": 0}
