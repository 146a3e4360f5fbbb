"""A list of slots that is filled in turn is a buffer with a bound."""

from __future__ import annotations

from crashcart.holding import bound_of, holdings
from crashcart.leaks._leak import filling, leak_of
from tests.unit.leaks.grown import growth, kept

RING = kept("memory.slots", kind="list (2000 slots)", item="tuple of ndarray")


def test_its_slots_are_its_bound() -> None:
    assert bound_of(RING) == 2000
    assert bound_of(kept(kind="list")) is None
    (holding,) = holdings(growth(kept=(RING,)))
    assert holding.keeps == "bounded"


def test_while_it_fills_there_is_no_leak() -> None:
    assert [each.kept for each in filling(growth(kept=(RING,)))] == [RING]
    assert leak_of(growth(kept=(RING,))) is None
    assert leak_of(growth(kept=(kept("memory.slots", item="tuple of ndarray"),))) is not None
