"""How often to look: a table of decisions."""

from __future__ import annotations

import pytest

from crashcart.record.pace import Pressure, interval_s, is_short, next_beat_s, wants_holders, wants_last_words
from crashcart.units import GIB, MIB


@pytest.mark.parametrize(
    ("headroom_bytes", "seconds"),
    [
        (None, 0.5),
        (20 * GIB, 0.5),
        (4 * GIB, 0.25),
        (2 * GIB, 0.125),
        (400 * MIB, 0.0244),
        (10 * MIB, 0.01),
        (-5, 0.01),
    ],
)
def test_the_nearer_the_limit_the_more_often(headroom_bytes: int | None, seconds: float) -> None:
    assert interval_s(headroom_bytes) == pytest.approx(seconds, abs=1e-4)


@pytest.mark.parametrize(
    ("used", "limit", "growth", "short"),
    [
        (1.0, 3.0, 0.0, False),
        (1.7, 3.0, 0.0, False),
        (1.9, 3.0, 0.0, True),
        (1.0, 3.0, 0.5, False),
        (1.0, 3.0, 2.0, True),
        (1.0, 3.0, -2.0, False),
        (0.0, 0.0, 0.0, True),
    ],
)
def test_memory_is_short_when_much_is_used_or_the_end_is_near(
    used: float, limit: float, growth: float, short: bool
) -> None:
    pressure = Pressure(int(used * GIB), int(limit * GIB), growth * GIB)
    assert is_short(pressure) is short


def test_last_words_are_taken_per_step_of_growth_and_without_it_close_under_the_limit() -> None:
    short = Pressure(2 * GIB, 3 * GIB, GIB)
    assert wants_last_words(short, 64 * MIB, 0.06)
    assert not wants_last_words(short, 64 * MIB, 0.04)
    assert not wants_last_words(short, 10 * MIB, 5.0)
    full = Pressure(int(2.8 * GIB), 3 * GIB, 0.0)
    assert wants_last_words(full, 0, 0.1)
    assert not wants_last_words(full, 0, 0.06)
    assert not wants_last_words(Pressure(GIB, 3 * GIB, 0.1 * GIB), GIB, 5.0)


def test_the_beat_slows_down_to_five_seconds() -> None:
    beat_s, beats = 0.5, []
    for _ in range(10):
        beat_s = next_beat_s(beat_s)
        beats.append(beat_s)
    assert beats == sorted(beats)
    assert beats[-1] == 5.0


def test_holders_are_asked_for_when_memory_has_grown_markedly() -> None:
    assert wants_holders(200 * MIB, 1.0, 3 * GIB)
    assert not wants_holders(200 * MIB, 0.2, 3 * GIB)
    assert not wants_holders(50 * MIB, 60.0, 3 * GIB)
    assert not wants_holders(200 * MIB, 60.0, None)
