"""Looks take their share of a program's time from its first step on, however short the steps are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crashcart.blackbox.inside import load

INSIDE = Path(__file__).resolve().parents[4] / "src" / "crashcart" / "leaks" / "inside"
budget: Any = load(INSIDE / "_crashcart_budget.py")
LOOK_S = 150e-6


def looks_in(seconds: float, step_s: float, ready_s: float = 0.0) -> int:
    """How many looks a program of such steps gets, each of `LOOK_S`."""
    purse, ran_s, next_s, looks = budget.Budget(False), ready_s, 0.0, 0
    while ran_s < ready_s + seconds:
        if ran_s >= next_s:
            purse.begin(ran_s)
            purse.spend(LOOK_S)
            looks, next_s = looks + 1, ran_s + purse.pause_s(ran_s)
        ran_s += step_s
    return looks


@pytest.mark.parametrize("step_s", [0.0005, 0.002, 0.02])
def test_looks_take_their_share_and_the_credit(step_s: float) -> None:
    assert looks_in(20.0, step_s) * LOOK_S <= budget.SHARE * 20.0 + budget.CREDIT_S + 3 * LOOK_S


def test_slow_steps_are_looked_at_each() -> None:
    assert looks_in(20.0, 0.1) >= 199


def test_the_time_of_imports_earns_no_looks() -> None:
    assert looks_in(2.0, 0.001, ready_s=60.0) == pytest.approx(looks_in(2.0, 0.001), abs=2)


def test_one_long_look_is_no_reason_to_look_away_for_long() -> None:
    purse = budget.Budget(False)
    for _ in range(1000):
        purse.spend(1.0)
    assert purse.pause_s(1.0) == budget.LONGEST_PAUSE_S
