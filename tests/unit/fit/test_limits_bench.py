"""What the benches of safety and of the largest batch conclude from runs."""

from __future__ import annotations

import pytest

from bench.fit.largest import true_largest
from bench.fit.safety import decides


@pytest.mark.parametrize("start", [1, 60, 100, 104, 400])
def test_the_true_largest_batch_is_found_from_either_side_in_few_runs(start: int) -> None:
    seen: list[int] = []

    def lives(batch: int) -> bool:
        seen.append(batch)
        return batch <= 103

    found = true_largest(lives, start)
    assert 100 <= found <= 103
    assert len(seen) == len(set(seen)) <= 12


def test_none_is_found_where_none_lives() -> None:
    assert true_largest(lambda batch: False, 4) == 0


def test_a_run_under_another_limit_answers_only_where_it_must() -> None:
    lived, died = {"lived": True, "ran_under_bytes": 100}, {"lived": False, "ran_under_bytes": 100}
    assert decides(lived, 100)
    assert decides(lived, 120)
    assert not decides(lived, 90)
    assert decides(died, 90)
    assert not decides(died, 120)
