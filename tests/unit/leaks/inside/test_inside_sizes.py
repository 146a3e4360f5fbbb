"""How much a container holds, whatever was put into it first and whoever shares it."""

from __future__ import annotations

from collections import OrderedDict, deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crashcart.blackbox.inside import load

INSIDE = Path(__file__).resolve().parents[4] / "src" / "crashcart" / "leaks" / "inside"
sizes: Any = load(INSIDE / "_crashcart_sizes.py")
kept: Any = load(INSIDE / "_crashcart_kept.py")


def measured(value: Any) -> tuple[int, str | None]:
    kind, members = next(each for each in kept._BASES if isinstance(value, each[0]))
    found: tuple[int, str | None] = sizes.of_container(kept.Walk(lambda _: True, sizes, 5.0), value, kind, members)
    return found


def settings(made: Any) -> Any:
    for number in range(40):
        made[f"setting {number}"] = number
    for number in range(100):
        made[f"result {number}"] = np.ones(10_000)
    return made


@pytest.mark.parametrize("made", [dict, OrderedDict])
def test_settings_that_come_first_do_not_hide_the_arrays_of_each_step(made: Any) -> None:
    size, words = measured(settings(made()))
    assert 0.7 * 8_000_000 < size < 1.3 * 8_000_000 and words == "ndarray"


def test_the_newest_of_a_deque_are_seen_too() -> None:
    size, _ = measured(deque([1.5] * 50 + [np.ones(10_000) for _ in range(50)]))
    assert 0.7 * 4_000_000 < size < 1.3 * 4_000_000


def test_of_a_very_long_dictionary_both_ends_are_seen() -> None:
    long: dict[int, Any] = dict.fromkeys(range(60_000), 0)
    long.update({100_000 + number: bytes(1000) for number in range(60_000)})
    size, _ = measured(long)
    assert 0.4 * 60_000_000 < size < 2 * 60_000_000


def test_a_set_is_sampled() -> None:
    assert measured({bytes([number]) * 1000 for number in range(200)})[0] >= 200 * 1000


def test_views_of_one_array_hold_it_once() -> None:
    series = np.ones(1_000_000)
    for made in (list, tuple, deque):
        size, words = measured(made(series[step : step + 64] for step in range(288)))
        assert 8_000_000 <= size < 8_200_000, made
        assert words == "ndarray view of a (1000000,) base"
    by_step = {step: series[step : step + 64] for step in range(2000)}
    assert 8_000_000 <= measured(by_step)[0] < 8_600_000


def test_views_of_a_few_arrays_hold_these() -> None:
    pool = [np.ones(100_000) for _ in range(3)]
    size, _ = measured([pool[step % 3][:10] for step in range(3000)])
    assert 2_400_000 <= size < 3_200_000


@pytest.mark.parametrize("count", [100, 400, 2000])
def test_views_of_an_array_each_hold_all_of_them(count: int) -> None:
    size, _ = measured([np.ones(1000)[:10] for _ in range(count)])
    assert 0.9 * count * 8000 < size < 1.1 * count * 8200


def test_several_views_of_each_array_hold_it_once() -> None:
    scans = [np.ones((100, 100)) for _ in range(100)]
    size, _ = measured([scan[top : top + 8] for scan in scans for top in range(0, 80, 8)])
    assert 0.8 * 8_000_000 < size < 1.5 * 8_000_000


def test_lists_of_views_of_one_array_hold_it_once_each() -> None:
    series = np.ones(1_000_000)
    size, _ = measured([[series[step : step + 64] for step in range(8)]])
    assert size < 9_000_000
