from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashcart.evidence import Ending, Event, Evidence, Machine, Sample, StackDump
from crashcart.report.series import memory_of, size_ticks, thinned, time_ticks
from crashcart.units import GIB, MIB

from . import examples

POINTS = st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e12)), max_size=400).map(sorted)


@settings(deadline=None)
@given(POINTS, st.integers(6, 50))
def test_thinning_keeps_the_ends_and_the_extremes(points: list[tuple[float, float]], most: int) -> None:
    kept = thinned(points, most)
    assert len(kept) <= max(most, 0)
    assert kept == sorted(kept)
    if points:
        assert (kept[0], kept[-1]) == (points[0], points[-1])
        values = [value for _, value in points]
        assert {min(values), max(values)} <= {value for _, value in kept}


def test_a_short_spike_among_many_samples_is_kept() -> None:
    samples = [Sample(index / 100, GIB) for index in range(20_000)]
    samples[12_345] = Sample(123.45, 7 * GIB)
    memory = memory_of(Evidence(samples=tuple(samples)))
    assert memory is not None
    assert memory.peak == (123.45, 7.0 * GIB)
    assert len(memory.curves[0].points) <= 600


def test_the_tree_is_a_line_of_its_own_only_where_it_differs() -> None:
    same = tuple(Sample(float(at), GIB, GIB, GIB) for at in range(5))
    differs = tuple(Sample(float(at), GIB, 2 * GIB, GIB) for at in range(5))
    counted = tuple(Sample(float(at), GIB, GIB, 3 * GIB) for at in range(5))
    assert [keys(each) for each in (same, differs, counted)] == [
        ["resident"],
        ["resident", "tree"],
        ["resident", "used"],
    ]


def keys(samples: tuple[Sample, ...]) -> list[str]:
    memory = memory_of(Evidence(samples=samples))
    return [curve.key for curve in memory.curves] if memory else []


def test_unknown_figures_are_left_out_and_never_zero() -> None:
    memory = memory_of(
        Evidence(samples=(Sample(0.0, None), Sample(1.0, GIB), Sample(math.nan, GIB), Sample(2.0, None)))
    )
    assert memory is not None
    assert memory.curves[0].points == ((1.0, float(GIB)),)


@pytest.mark.parametrize("samples", [None, (), (Sample(1.0),), (Sample(math.nan, GIB),)])
def test_without_a_figure_there_is_no_chart(samples: tuple[Sample, ...] | None) -> None:
    assert memory_of(Evidence(samples=samples)) is None


def test_the_limit_names_its_source() -> None:
    memory = memory_of(examples.oom_evidence())
    assert memory is not None and memory.bound is not None
    assert (memory.bound.bytes, memory.bound.source) == (examples.LIMIT_BYTES, "memory.limit_in_bytes")
    assert memory.drawn_bound == memory.bound


def limit_source(machine: Machine | None, sampled: int | None) -> str | None:
    memory = memory_of(Evidence(samples=(Sample(0.0, GIB, limit_bytes=sampled),), machine=machine))
    return memory.bound.source if memory and memory.bound else None


def test_the_limit_that_was_sampled_wins() -> None:
    assert limit_source(examples.machine(), 7 * GIB) == "as sampled"
    assert limit_source(examples.machine(), None) == "memory.limit_in_bytes"
    assert limit_source(None, None) is None


def test_a_far_limit_is_told_and_not_drawn() -> None:
    memory = memory_of(Evidence(samples=(Sample(0.0, GIB, limit_bytes=24 * GIB),)))
    assert memory is not None
    assert memory.drawn_bound is None
    assert "The limit is 24.0 GiB" in memory.told()


def test_the_chart_in_words() -> None:
    memory = memory_of(examples.oom_evidence())
    assert memory is not None
    assert memory.told().endswith("The limit is 2.79 GiB (memory.limit_in_bytes). The end: SIGKILL at 12 s.")


def test_a_recording_of_the_tail_starts_where_it_starts() -> None:
    memory = memory_of(Evidence(samples=tuple(Sample(5000.0 + at, GIB) for at in range(60))))
    assert memory is not None
    assert (memory.start_s, memory.end_s) == (5000.0, 5059.0)


def test_moments_outside_the_time_axis_are_left_out() -> None:
    evidence = Evidence(
        samples=(Sample(0.0, GIB), Sample(10.0, GIB)),
        events=(Event(5.0, "a", "inside"), Event(99.0, "a", "after"), Event(math.nan, "a", "never")),
        stacks=(*(StackDump(at / 100, 1, ()) for at in range(1000)), StackDump(9.9, 1, (), "memory")),
        ending=Ending("running", 10.0),
    )
    memory = memory_of(evidence)
    assert memory is not None
    kinds = [moment.kind for moment in memory.moments]
    assert [moment.label for moment in memory.moments if moment.kind == "event"] == ["inside"]
    assert kinds.count("words") == 1 and 1 < kinds.count("beat") <= 40
    assert memory.end is None


@pytest.mark.parametrize(
    ("top", "words"),
    [
        (3.1 * GIB, ["0", "1 GiB", "2 GiB", "3 GiB"]),
        (1.2 * GIB, ["0", "0.2 GiB", "0.4 GiB", "0.6 GiB", "0.8 GiB", "1 GiB", "1.2 GiB"]),
        (740 * MIB, ["0", "200 MiB", "400 MiB", "600 MiB"]),
    ],
)
def test_size_ticks_are_round(top: float, words: list[str]) -> None:
    assert [label for _, label in size_ticks(top)] == words


@pytest.mark.parametrize(
    ("start_s", "end_s", "words"),
    [
        (0, 12.4, ["0 s", "2 s", "4 s", "6 s", "8 s", "10 s", "12 s"]),
        (0, 0.5, ["0 s", "0.1 s", "0.2 s", "0.3 s", "0.4 s", "0.5 s"]),
        (0, 700, ["0 s", "2 min", "4 min", "6 min", "8 min", "10 min"]),
        (5001, 5059, ["83 min 30 s", "83 min 40 s", "83 min 50 s", "84 min", "84 min 10 s"]),
    ],
)
def test_time_ticks_are_round(start_s: float, end_s: float, words: list[str]) -> None:
    assert [label for _, label in time_ticks(start_s, end_s)] == words


@settings(deadline=None)
@given(st.floats(0, 1e9), st.floats(0.1, 1e9))
def test_time_ticks_are_few_and_inside(start_s: float, length_s: float) -> None:
    ticks = time_ticks(start_s, start_s + length_s)
    assert len(ticks) <= 17
    unseen = length_s * 1e-6 + start_s * 1e-14
    assert all(start_s - unseen <= at_s <= start_s + length_s + unseen for at_s, _ in ticks)
