"""The search for the largest batch: it has a time of its own, and the estimate does not wait for it."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from crashcart.cli import fit_child, fit_search
from crashcart.cli.fit import _cut_short
from crashcart.cli.fit_ask import SEARCHING, Answer
from crashcart.cli.fit_search import Found, Pace, end_of_search_s, searched
from crashcart.step import Bounds, StepPeak

ASKED, LIMIT = 32, 1_000_000
PER_EXAMPLE = 100  # bytes


class Clock:
    """Time that passes by looks alone: so many seconds for each, and for each example."""

    def __init__(self, look_s: float, example_s: float) -> None:
        self.now_s, self._look_s, self._example_s = 0.0, look_s, example_s

    def monotonic(self) -> float:
        return self.now_s

    def look(self, batch: int) -> Bounds:
        self.now_s += self._look_s + self._example_s * batch
        return Bounds(batch * PER_EXAMPLE, 0, batch * PER_EXAMPLE)


def found(monkeypatch: pytest.MonkeyPatch, clock: Clock, loops: bool, until_s: float = 30.0) -> Found:
    monkeypatch.setattr(fit_search, "time", clock)
    first = clock.look(ASKED)
    pace = Pace(until_s, loops, {ASKED: clock.now_s})
    return searched(ASKED, first, LIMIT, clock.look, None, pace)


def test_a_step_without_loops_is_searched_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, Clock(1.0, 0.0), loops=False) == Found(10_000, False, 10_000, None, 10_000)


def test_loops_that_do_not_depend_on_the_batch_cost_one_look_more(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, Clock(1.0, 0.0), loops=True) == Found(10_000, False, 10_000, None, 10_000)


def test_loops_over_the_batch_end_the_search_in_time_with_what_was_seen_to_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(0.1, 0.02)  # the whole search would take 200 s for one look
    seen = found(monkeypatch, clock, loops=True)
    assert seen.cut and seen.batch is not None and 500 < seen.batch < 1500
    assert clock.now_s <= 30


def test_no_time_at_all_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(10.0, 0.0)
    monkeypatch.setattr(fit_search, "time", clock)
    assert searched(
        ASKED, Bounds(2 * LIMIT, 0, 2 * LIMIT), LIMIT, clock.look, None, Pace(5.0, False, {ASKED: 10.0})
    ) == (Found(None, True, 0))


def test_where_none_surely_fits_the_figure_of_the_smallest_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_search, "time", Clock(0.0, 0.0))

    def look(batch: int) -> Bounds:
        return Bounds(LIMIT - 1 + batch, LIMIT // 2, 2 * LIMIT + batch)

    seen = searched(4, look(4), LIMIT, look, None, Pace(30.0, False, {4: 0.0}))
    assert seen == Found(0, False, 0, look(1), 1)


def test_the_largest_whose_figure_fits_is_told_beside_the_one_whose_bound_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_search, "time", Clock(0.0, 0.0))

    def look(batch: int) -> Bounds:
        return Bounds(1000 + batch * PER_EXAMPLE, 0, 2 * (1000 + batch * PER_EXAMPLE))

    seen = searched(ASKED, look(ASKED), LIMIT, look, None, Pace(30.0, False, {ASKED: 0.0}))
    assert seen.batch == 4_990 and seen.likely == 9_990 and not seen.cut


@pytest.mark.parametrize("asked", [1, 2, 32, 41, 200, 1000, 9000])
def test_the_largest_does_not_depend_on_the_batch_that_was_asked_for(
    monkeypatch: pytest.MonkeyPatch, asked: int
) -> None:
    """Small figures are alike: upper bounds of small steps are whole regions of the allocator."""
    monkeypatch.setattr(fit_search, "time", Clock(0.0, 0.0))

    def look(batch: int) -> Bounds:
        bytes_there = max(40_000, 30_000 + batch * PER_EXAMPLE)
        return Bounds(bytes_there, 0, max(100_000, int(1.2 * bytes_there)))

    seen = searched(asked, look(asked), LIMIT, look, None, Pace(30.0, False, {asked: 0.0}))
    assert seen.batch is not None and 7_900 <= seen.batch <= 8_033 and not seen.cut
    assert 9_600 <= seen.likely <= 9_700


def test_a_search_that_does_not_come_to_its_end_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_search, "time", Clock(0.0, 0.0))
    flat = Bounds(LIMIT // 2, LIMIT // 2, LIMIT // 2)
    seen = searched(1, flat, LIMIT, lambda _: flat, None, Pace(30.0, False, {1: 0.0}))
    assert seen.cut and seen.batch is not None and seen.batch > 1000


def test_walks_under_a_limit_are_part_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(1.0, 0.0)
    monkeypatch.setattr(fit_search, "time", clock)

    def runs(batch: int) -> bool:
        clock.now_s += 50
        return True

    seen = searched(ASKED, clock.look(ASKED), LIMIT, clock.look, runs, Pace(30.0, False, {ASKED: 1.0}))
    assert seen == Found(20_000, True, 10_000, None, 20_000)
    assert clock.now_s < 60


def test_it_ends_before_the_whole_command_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_search, "time", Clock(0.0, 0.0))
    assert end_of_search_s(0.7, None) == 30
    assert end_of_search_s(20.0, None) == 120
    assert end_of_search_s(0.7, 25.0) == 20


@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed")
def test_the_estimate_is_written_before_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dies:
        def __init__(self, *_: Any) -> None:
            pass

        def estimated(self) -> StepPeak:
            return StepPeak("train", 32, 100, 90, 110)

        def searched(self, step: StepPeak) -> StepPeak:
            raise MemoryError

    monkeypatch.setattr(fit_child, "Estimator", Dies)
    monkeypatch.setattr(fit_child.tensorflow_load, "load", lambda *_, **__: (None, None))
    request = {"file": "a.py", "name": "b", "available_bytes": 1000}
    told: list[dict[str, Any]] = []
    fit_child.main(request, told.append, lambda _: None)
    assert [each["step"]["peak_bytes"] for each in told if "step" in each] == [100]


def test_time_that_runs_out_in_the_search_is_said_of_it() -> None:
    assert _cut_short(Answer(SEARCHING, {}, timed_out=True)) == ("the largest batch was not found: time was over",)
    assert "remedies" in _cut_short(Answer("estimating remedies: remat", {}, timed_out=True))[0]
