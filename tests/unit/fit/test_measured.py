"""The line through measured peaks, which batches are measured, and two estimates brought together."""

from __future__ import annotations

import pytest

from crashcart.fit.measured import Line, Point, nearer_size, next_size, reconciled, sizes
from crashcart.step import Bounds, Remedy, StepPeak

MB = 1_000_000


def line(*points: tuple[int, int], held: int = 0, phase: str = "train") -> Line:
    return Line(tuple(Point(batch, peak * MB, held * MB) for batch, peak in points), phase)


def step(peak: int, low: int, high: int, host: Bounds | None = None, **options: object) -> StepPeak:
    return StepPeak("train", 64, peak * MB, low * MB, high * MB, host=host, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("batch", "tried"), [(64, (4, 8, 16)), (8, (1, 2)), (1, (1,)), (100, (7, 13, 25))])
def test_parts_of_the_batch_are_tried_smallest_first(batch: int, tried: tuple[int, ...]) -> None:
    assert sizes(batch) == tried


def test_the_next_batch_is_tried_only_where_it_surely_fits() -> None:
    points = [Point(4, 100 * MB)]
    assert next_size([], 64, 1000 * MB) == 4
    assert next_size(points, 64, 1000 * MB) == 8
    assert next_size(points, 64, 210 * MB) is None
    assert next_size([Point(16, 100 * MB)], 64, 1000 * MB) is None


def test_the_asked_batch_is_tried_alone_or_half_of_it_where_time_and_memory_allow() -> None:
    known = Line((Point(8, 180 * MB, 60 * MB, 0.5), Point(16, 260 * MB, 60 * MB, 1.0)))  # 740 MB and 4 s at 64
    assert nearer_size(known, 64, 2000 * MB, 20.0, 4) == 64
    assert nearer_size(known, 64, 2000 * MB, 10.0, 4) == 32
    assert nearer_size(known, 64, 700 * MB, 20.0, 4) == 32
    assert nearer_size(known, 64, 300 * MB, 20.0, 4) is None
    assert nearer_size(known, 64, 2000 * MB, 1.0, 4) is None
    assert nearer_size(known, 16, 2000 * MB, 20.0, 4) is None


def test_a_straight_line_is_followed() -> None:
    found = line((4, 140), (8, 180), (16, 260), held=60).at(64)
    assert found.bytes == 740 * MB
    assert found.low_bytes < 740 * MB < found.high_bytes


def test_bounds_widen_with_the_distance() -> None:
    straight = line((4, 140), (8, 180), (16, 260), held=60)
    near, far = straight.at(32), straight.at(256)
    assert near.high_bytes / near.bytes < far.high_bytes / far.bytes
    assert near.low_bytes / near.bytes > far.low_bytes / far.bytes


def test_one_odd_batch_does_not_tilt_the_line() -> None:
    odd = line((4, 140), (8, 230), (16, 260), (32, 420), held=60).at(128)
    assert odd.bytes == pytest.approx(1380 * MB, rel=0.03)


def test_where_the_last_batches_rise_faster_the_device_is_taken_to_go_on_so() -> None:
    bent = line((4, 79), (8, 85), (16, 94), (32, 118), held=29)
    assert bent.at(64).bytes > 160 * MB
    assert bent.at(64).high_bytes > 200 * MB
    host = Line(bent.points, "train", "host").at(64)
    assert host.bytes < bent.at(64).bytes


def test_a_step_that_leaves_little_to_chance_has_narrower_bounds() -> None:
    points = (Point(16, 100 * MB),)
    train, predict = Line(points, "train").at(16), Line(points, "predict").at(16)
    assert predict.high_bytes - predict.low_bytes < train.high_bytes - train.low_bytes


def test_no_slope_is_steeper_than_everything_growing_with_the_batch() -> None:
    jumped = line((1, 70), (2, 71), (4, 200), held=100).at(8)
    assert jumped.bytes <= 300 * MB
    assert jumped.high_bytes < 300 * MB * 1.25


def test_what_was_measured_at_the_batch_itself_is_not_extrapolated() -> None:
    found = line((16, 100), (32, 110), (64, 300)).at(64)
    assert found.bytes == 300 * MB
    assert found.high_bytes < 340 * MB


def test_one_point_says_little_above_it() -> None:
    found = line((4, 100), held=60).at(8)
    assert found.low_bytes <= 100 * MB
    assert found.high_bytes >= 140 * MB


def test_inside_the_points_the_bounds_hold_both_neighbours() -> None:
    found = line((4, 140), (16, 260)).at(10)
    assert found.bytes == 200 * MB
    assert found.low_bytes <= 140 * MB
    assert found.high_bytes >= 260 * MB
    below = line((4, 140), held=100).at(2)
    assert below.bytes == 120 * MB


def test_the_largest_batch_is_the_last_whose_upper_bound_fits() -> None:
    found = line((4, 140), (8, 180), (16, 260), held=60)
    largest = found.largest(2000 * MB)
    assert found.at(largest).high_bytes <= 2000 * MB < found.at(largest + 1).high_bytes
    assert found.largest(10 * MB) == 0


def test_nothing_is_said_far_beyond_what_was_measured() -> None:
    flat = line((4, 100), (8, 100), (16, 100), held=100)
    assert flat.largest(1000 * MB) == 16 * 16 and flat.is_least(16 * 16)
    noise = Line((Point(2, 105 * MB), Point(8, 104 * MB), Point(32, 108 * MB)), "train", "host")
    found = noise.largest(200 * MB)
    assert 32 < found < 512 and noise.is_least(found)  # the slope is chance: true ones may be far larger
    steep = line((4, 140), (8, 180), (16, 260), held=60)
    assert not steep.is_least(steep.largest(2000 * MB))


def test_the_time_of_both_is_told_and_an_open_end_stays_one() -> None:
    traced = step(100, 80, 120, largest_batch=90, seconds=1.0)
    real = step(200, 180, 220, method="measured", largest_batch=40, larger_may_fit=True, seconds=45.0)
    both = reconciled(traced, real)
    assert (both.seconds, both.largest_batch, both.larger_may_fit) == (46.0, 40, True)
    kept = reconciled(traced, step(100, 80, 120, method="measured", larger_may_fit=True, largest_batch=40))
    assert (kept.seconds, kept.largest_batch, kept.larger_may_fit) == (1.0, 90, False)


def test_where_both_agree_the_trace_is_kept_with_the_narrower_interval() -> None:
    found = reconciled(step(100, 80, 120), step(104, 95, 130, method="measured"))
    assert (found.method, found.peak_bytes, found.low_bytes, found.high_bytes) == (
        "traced",
        100 * MB,
        95 * MB,
        120 * MB,
    )
    assert found.assumed == ()


def test_where_they_differ_real_steps_are_believed_and_it_is_said() -> None:
    traced = step(100, 80, 120, at="conv", largest_batch=90)
    found = reconciled(traced, step(200, 180, 220, method="measured", largest_batch=40))
    assert (found.method, found.peak_bytes, found.largest_batch, found.at) == ("measured", 200 * MB, 40, "conv")
    assert "real steps say 191 MiB" in found.assumed[-1]


def test_remedies_go_with_the_figure_that_stands() -> None:
    remedy = Remedy("accumulation", 50 * MB, "", None, 4, 60 * MB)
    traced = step(100, 80, 120, remedies=(remedy,), kinds={"weights": MB})
    found = reconciled(traced, step(200, 180, 240, method="measured"))
    assert (found.remedies[0].peak_bytes, found.remedies[0].high_bytes) == (100 * MB, 120 * MB)
    assert any("times 2.00" in each for each in found.assumed) and any("as traced" in each for each in found.assumed)
    kept = reconciled(traced, step(104, 95, 130, method="measured"))
    assert kept.remedies == (remedy,) and kept.assumed == ()


def test_the_compared_figure_says_which_method_stands() -> None:
    host = Bounds(500 * MB, 400 * MB, 600 * MB)
    traced = step(100, 80, 120, host, target="host", largest_batch=90)
    measured = step(200, 180, 220, Bounds(510 * MB, 450 * MB, 550 * MB), method="measured", largest_batch=40)
    found = reconciled(traced, measured)
    assert (found.method, found.largest_batch, found.peak_bytes) == ("traced", 90, 200 * MB)
    assert found.host == Bounds(500 * MB, 450 * MB, 550 * MB)


def test_one_estimate_alone_stands() -> None:
    only = step(100, 80, 120, method="measured")
    assert reconciled(None, only) is only
    assert reconciled(only, None) is only
    alone = reconciled(step(100, 80, 120), step(100, 90, 110, Bounds(7, 6, 8), method="measured"))
    assert alone.host == Bounds(7, 6, 8)
