"""What functools caches hold, and how many slots of a list are filled."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crashcart.blackbox.inside import load

INSIDE = Path(__file__).resolve().parents[4] / "src" / "crashcart" / "leaks" / "inside"
kept: Any = load(INSIDE / "_crashcart_kept.py")
roots: Any = load(INSIDE / "_crashcart_roots.py")
bounded: Any = load(INSIDE / "_crashcart_bounded.py")
sizes: Any = load(INSIDE / "_crashcart_sizes.py")
ARRAY = 8000


def features(*_: Any, **__: Any) -> Any:
    return np.ones(ARRAY // 8)


def held(cache: Any) -> tuple[int, int, str | None]:
    known = bounded.Bounded(sizes)
    found: tuple[int, int, str | None] = known.of_cache(kept.Walk(roots.Roots(lambda _: True), known, 5.0), cache)
    return found


@pytest.mark.parametrize("maxsize", [None, 1000])
@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("count", [1, 6, 30, 500])
def test_each_entry_of_a_cache_is_a_key_and_a_result(maxsize: int | None, typed: bool, count: int) -> None:
    for arguments in (lambda at: ((at,), {}), lambda at: ((at, str(at)), {}), lambda at: ((), {"at": at})):
        cache = lru_cache(maxsize=maxsize, typed=typed)(features)
        for at in range(count):
            given, named = arguments(at)
            cache(*given, **named)
        known, size, words = held(cache)
        assert known == count and words == "ndarray"
        assert count * ARRAY <= size < count * (ARRAY + 600) + 3000  # the types of a typed one, once


@pytest.mark.parametrize("maxsize", [None, 100])
def test_a_large_key_counts_with_its_result(maxsize: int | None) -> None:
    cache = lru_cache(maxsize=maxsize)(lambda text: len(text))
    for at in range(60):
        cache(str(at) + "." * 10_000)
    assert 60 * 10_000 <= held(cache)[1] < 60 * 10_500


@pytest.mark.parametrize("maxsize", [None, 400])
def test_the_object_of_a_cached_method_counts_once(maxsize: int | None) -> None:
    class Store:
        def __init__(self) -> None:
            self.data = np.ones(1_000_000)

        @lru_cache(maxsize=maxsize)  # noqa: B019
        def row(self, _: int) -> Any:
            return features()

    store = Store()
    for at in range(300):
        store.row(at)
    assert held(Store.row)[1] < 8_000_000 + 300 * (ARRAY + 600)


def test_a_cache_that_forgets_is_read_too() -> None:
    cache = lru_cache(maxsize=50)(features)
    for at in range(500):
        cache(at)
        cache(at // 2)
    known, size, words = held(cache)
    assert known == 50 and words == "ndarray" and 50 * ARRAY <= size < 50 * (ARRAY + 600)


def test_a_result_that_looks_like_the_cache_is_none() -> None:
    for maxsize in (None, 100):
        cache = lru_cache(maxsize=maxsize)(lambda _: {"a": features(), "b": features()})
        cache(1), cache(2)
        assert 4 * ARRAY <= held(cache)[1] < 4 * (ARRAY + 600)


def test_an_empty_cache_holds_nothing() -> None:
    for maxsize in (None, 0, 100):
        assert held(lru_cache(maxsize=maxsize)(features)) == (0, 0, None)


def filled(count: int, length: int) -> list[Any]:
    return [features() for _ in range(count)] + [None] * (length - count)


@pytest.mark.parametrize("length", [8, 100, 5000])
def test_slots_that_are_filled_in_turn_are_counted(length: int) -> None:
    known = bounded.Bounded(sizes)
    ring: list[Any] = [None] * length
    assert known.slots(ring, length) == (0, False), "at the first look, its length may be by chance"
    for at in range(length):
        ring[at] = 0
        if at in (0, 1, 5, length // 2, length - 2, length - 1):
            assert known.slots(ring, length) == (at + 1, True), "the last one fills it, and it still has a bound"


def test_a_list_that_none_is_appended_to_has_no_slots() -> None:
    known = bounded.Bounded(sizes)
    grown: list[Any] = []
    for at in range(300):
        grown.extend((at, None, None))
        used, has_slots = known.slots(grown, len(grown))
        assert not has_slots and (used == len(grown) or len(grown) < 16)
    trailing = filled(20, 24)
    for _ in range(10):
        assert not known.slots(trailing, len(trailing))[1]
        trailing.append(None)


def test_a_list_of_lists_that_grow_has_no_slots() -> None:
    known = bounded.Bounded(sizes)
    buckets: list[list[int]] = [[] for _ in range(100)]
    assert [known.slots(buckets, 100) for _ in range(3)] == [(100, False)] * 3


def test_lists_are_forgotten() -> None:
    known = bounded.Bounded(sizes)
    rings = [[None] * 10 for _ in range(1000)]
    for ring in rings:
        known.slots(ring, 10)
    assert len(known.lengths) <= bounded.MOST_LISTS


def test_a_ring_is_told_with_its_slots_and_what_is_in_them() -> None:
    known = bounded.Bounded(sizes)
    ring: list[Any] = [None] * 2000
    for count in (100, 200):
        ring[:count] = filled(count, count)
        walk = kept.Walk(roots.Roots(lambda _: True), known, 5.0)
        walk.visit("ring", ring, ("train.py", "train.py", ()), 0)
        (entry,) = walk.entries
        assert entry[3] == count and entry[5] == "ndarray"
        assert count * ARRAY <= entry[4] < count * (ARRAY + 300) + 17_000
    assert entry[2] == "list (2000 slots)"
