"""Leaks are found soon, and what only looks like one is not: made series, each with noise, each with several seeds."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from crashcart.trend import Climb, NoTrend, TooShort, Trend, climb, trend
from crashcart.units import GIB, KIB, MIB

LEAST = 4 * MIB
SEEDS = range(6)
Shape = Callable[[int], float]


def seen(
    shape: Shape, count: int, noise_bytes: float = 0.0, seed: int = 0, every: int = 1
) -> tuple[list[int], list[int]]:
    chance = random.Random(seed)
    steps = list(range(1, count + 1, every))
    return steps, [int(shape(step) + chance.uniform(-noise_bytes, noise_bytes)) for step in steps]


def teeth(step: int, period: int, height: float) -> float:
    """What a collector leaves until its turn comes."""
    return (step % period) * height / period


def warm_up(step: int, height: float, steps: float) -> float:
    return height * (1 - math.exp(-step / steps))


LEAKS: dict[str, tuple[Shape, int, float, float]] = {
    "a MiB a step on a GiB, within 60 steps": (lambda n: GIB + n * MIB, 60, 4 * MIB, MIB),
    "the same after a warm-up of 300 MiB": (
        lambda n: GIB + n * MIB + warm_up(n, 300 * MIB, 2.5), 60, 2 * MIB, MIB),
    "64 KiB a step, within 400 steps": (lambda n: GIB + n * 64 * KIB, 400, 5 * MIB, 64 * KIB),
    "64 KiB a step after a warm-up": (
        lambda n: GIB + n * 64 * KIB + warm_up(n, 200 * MIB, 8), 400, 3 * MIB, 64 * KIB),
    "under a collector's teeth": (lambda n: 600 * MIB + n * MIB + teeth(n, 17, 40 * MIB), 400, MIB, MIB),
    "under teeth of very different heights": (
        lambda n: 600 * MIB + n * MIB + teeth(n, 7 + n % 5, 30 * MIB), 300, MIB, MIB),
    "it begins at a third of the run": (
        lambda n: 500 * MIB + max(0, n - 100) * 2 * MIB, 300, 3 * MIB, 2 * MIB),
    "it begins at two thirds": (lambda n: 500 * MIB + max(0, n - 200) * 2 * MIB, 300, 3 * MIB, 2 * MIB),
    "a short peak at the start, given back": (
        lambda n: 500 * MIB + n * MIB + (1500 * MIB if 3 < n < 10 else 0), 200, 2 * MIB, MIB),
    "in small stairs of the allocator": (lambda n: 500 * MIB + (n // 8) * 8 * MIB, 200, MIB, MIB),
    "in every epoch a little stays": (
        lambda n: 500 * MIB + n * MIB + teeth(n, 25, 100 * MIB), 400, 2 * MIB, MIB),
    "the run ends just after a collection": (
        lambda n: 250 * MIB + n * 120 * KIB - (4 * MIB if n > 310 else 0), 330, MIB // 4, 120 * KIB),
    "without any noise": (lambda n: 100 * MIB + n * 300 * KIB, 100, 0, 300 * KIB),
    "a thousand steps": (lambda n: 2 * GIB + n * 256 * KIB, 1000, 20 * MIB, 256 * KIB),
}  # fmt: skip


@pytest.mark.parametrize("name", LEAKS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_leak_is_found(name: str, seed: int) -> None:
    shape, count, noise_bytes, per_step = LEAKS[name]
    found = trend(*seen(shape, count, noise_bytes, seed), LEAST)
    assert isinstance(found, Trend), found.reason
    assert 0.6 * per_step < found.per_step < 1.6 * per_step
    assert found.low <= found.per_step <= found.high


NO_LEAKS: dict[str, tuple[Shape, int, float]] = {
    "flat": (lambda n: GIB, 400, 4 * MIB),
    "flat, with much noise": (lambda n: GIB, 100, 60 * MIB),
    "a warm-up": (lambda n: 300 * MIB + warm_up(n, 400 * MIB, 10), 300, 2 * MIB),
    "a slow warm-up": (lambda n: 300 * MIB + warm_up(n, 400 * MIB, 60), 300, 2 * MIB),
    "a warm-up that the run ends in": (lambda n: 300 * MIB + warm_up(n, 400 * MIB, 80), 120, 2 * MIB),
    "a cache that is full after a third": (lambda n: 300 * MIB + min(n, 100) * MIB, 300, 3 * MIB),
    "a cache that is full after 85 %": (lambda n: 300 * MIB + min(n, 255) * MIB, 300, 3 * MIB),
    "keys drawn at random until all are cached": (lambda n: 300 * MIB + warm_up(n, 500 * MIB, 100), 250, 3 * MIB),
    "a collector's teeth": (lambda n: 600 * MIB + teeth(n, 40, 200 * MIB), 390, 2 * MIB),
    "teeth as long as half the run": (lambda n: 600 * MIB + teeth(n, 100, 200 * MIB), 195, 2 * MIB),
    "three epochs that give back what they built up": (lambda n: 400 * MIB + teeth(n, 70, 300 * MIB), 205, 2 * MIB),
    "one jump": (lambda n: 400 * MIB + (200 * MIB if n > 150 else 0), 300, 2 * MIB),
    "two jumps": (lambda n: 400 * MIB + (n > 60) * 64 * MIB + (n > 200) * 64 * MIB, 300, 2 * MIB),
    "jumps that come ever later, as arenas do": (lambda n: 400 * MIB + 64 * MIB * int(math.log2(n)), 300, 2 * MIB),
    "given back at the end": (lambda n: 400 * MIB + (n if n < 280 else 0) * MIB, 300, 2 * MIB),
    "full after 80 %, then a part is given back": (
        lambda n: 300 * MIB + min(n, 240) * MIB - (20 * MIB if n > 250 else 0), 300, 2 * MIB),
    "it falls": (lambda n: GIB - n * MIB, 200, 2 * MIB),
    "a list of floats": (lambda n: 500 * MIB + 32 * n, 5000, MIB),
    "up and down slowly": (lambda n: 500 * MIB + 50 * MIB * math.sin(n / 25), 300, 2 * MIB),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_LEAKS)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_no_leak_is_not_called_one(name: str, seed: int) -> None:
    shape, count, noise_bytes = NO_LEAKS[name]
    found = trend(*seen(shape, count, noise_bytes, seed), LEAST)
    assert isinstance(found, NoTrend), f"+{found.per_step / MIB:.2f} MiB a step since {found.since_step}"
    assert found.below > 0


def test_a_leak_is_dated_from_where_it_begins() -> None:
    found = trend(*seen(lambda n: 500 * MIB + max(0, n - 100) * 2 * MIB, 300, MIB), LEAST)
    assert isinstance(found, Trend) and 85 <= found.since_step <= 150
    warm = trend(*seen(lambda n: GIB + n * MIB + warm_up(n, 400 * MIB, 5), 200, MIB), LEAST)
    assert isinstance(warm, Trend) and 10 <= warm.since_step <= 80


def test_what_would_have_been_found_is_said_and_holds() -> None:
    """The bound of a flat series: a leak of twice that size is found on the same noise."""
    steps, values = seen(lambda n: GIB, 200, 3 * MIB, seed=4)
    found = trend(steps, values, LEAST)
    assert isinstance(found, NoTrend) and found.below < 200 * KIB
    leaking = [value + int(2 * found.below * step) for step, value in zip(steps, values, strict=True)]
    assert isinstance(trend(steps, leaking, LEAST), Trend)


def test_few_looks_are_too_short_and_say_so() -> None:
    assert isinstance(trend([1, 2], [1, 2 * GIB], LEAST), TooShort)
    few = trend(*seen(lambda n: n * MIB, 16), LEAST)
    assert isinstance(few, TooShort) and "16" in few.reason
    many_looks_few_steps = trend(sorted([1, 2, 3] * 10), list(range(30)), 1)
    assert isinstance(many_looks_few_steps, TooShort) and "steps" in many_looks_few_steps.reason


def test_looks_that_come_more_and_more_seldom_in_the_past_do_not_bend_a_line() -> None:
    """The recording thins its older looks: every 16th, then every 4th, then all."""
    steps = [*range(1, 400, 16), *range(400, 560, 4), *range(560, 600)]
    found = trend(steps, [GIB + step * MIB for step in steps], LEAST)
    assert isinstance(found, Trend) and found.clear and found.per_step == pytest.approx(MIB, rel=0.05)


def test_what_is_freed_after_the_last_step_hides_no_leak() -> None:
    """The last looks may come when the loop has been left, and its list with it."""
    steps, values = seen(lambda n: 100 * MIB + n * MIB, 100, MIB)
    assert isinstance(trend([*steps, 101, 101, 101], [*values, 90 * MIB, 90 * MIB, 90 * MIB], LEAST), Trend)
    later = [*range(101, 111)]
    assert isinstance(trend([*steps, *later], [*values, *[90 * MIB] * 10], LEAST), NoTrend)


def test_it_is_clear_only_far_from_the_noise() -> None:
    clear = trend(*seen(lambda n: GIB + n * MIB, 200, 2 * MIB), LEAST)
    assert isinstance(clear, Trend) and clear.clear
    faint = trend(*seen(lambda n: GIB + n * MIB, 20, 0.5 * MIB), LEAST)
    assert isinstance(faint, Trend) and not faint.clear


def test_a_count_climbs_where_it_goes_up_to_the_end() -> None:
    assert climb([10, 20, 40, 80, 100], [10, 20, 40, 80, 100]) == Climb(10, 10, 100, 90)
    found = climb([1, 50, 100, 200, 300], [5, 5, 100, 200, 300])
    assert found is not None and found.since_step == 50 and found.per_step == pytest.approx(1.18)


def test_a_count_that_is_gone_at_the_last_look_alone_climbs() -> None:
    found = climb([1, 20, 40, 60, 80, 81], [1, 20, 40, 60, 80, 0])
    assert found is not None and found.last == 80


@pytest.mark.parametrize(
    "counts",
    [
        pytest.param([10, 10, 10, 10, 10, 10], id="it stays"),
        pytest.param([10, 60, 100, 100, 100, 100], id="it is full"),
        pytest.param([10, 60, 100, 10, 60, 100], id="it is emptied now and then"),
        pytest.param([10, 10, 10, 10, 10, 100], id="one jump"),
        pytest.param([1, 2, 8, 14, 36, 28], id="it fell at the last look"),
        pytest.param([10, 80, 120, 130, 133, 134], id="it levels off"),
        pytest.param([100, 80, 60, 40, 20, 10], id="it falls"),
        pytest.param([10, 20, None, None, None, 30], id="it was hardly looked at"),
    ],
)
def test_a_count_that_does_not_go_up_to_the_end_does_not_climb(counts: list[int | None]) -> None:
    assert climb([1, 20, 40, 60, 80, 100], counts) is None


def test_a_small_climb_is_not_worth_a_word() -> None:
    steps, counts = [1, 20, 40, 60, 80, 100], [1, 2, 3, 4, 5, 6]
    assert climb(steps, counts, least=5) is not None
    assert climb(steps, counts, least=6) is None
