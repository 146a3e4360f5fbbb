"""Reading a recording that is still being written."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from crashcart.blackbox.live import Point, guard_events, last_sample, thinned, use_over_time
from crashcart.blackbox.recording import Recorder
from crashcart.evidence import Sample


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path, {"program": {}})


def fill(recorder: Recorder, count: int) -> None:
    for number in range(count):
        recorder.sample(Sample(number * 0.1, rss_bytes=number, used_bytes=1000 + number, limit_bytes=10_000))


def test_the_last_sample(recorder: Recorder) -> None:
    assert last_sample(recorder.folder) is None
    fill(recorder, 5000)  # several times around the ring
    sample = last_sample(recorder.folder)
    assert sample is not None
    assert (sample.used_bytes, sample.limit_bytes, sample.rss_bytes) == (5999, 10_000, 4999)


def test_a_damaged_ring_has_no_sample(recorder: Recorder) -> None:
    fill(recorder, 3)
    (recorder.folder / "samples.ring").write_bytes(b"CCBLKBOX" + bytes(60) + b"rubbish")
    assert last_sample(recorder.folder) is None
    assert last_sample(recorder.folder / "nowhere") is None


def test_a_torn_record_costs_itself_alone(recorder: Recorder) -> None:
    fill(recorder, 3)
    path = recorder.folder / "samples.ring"
    content = bytearray(path.read_bytes())
    content[content.rindex(b'"used_bytes":1002')] ^= 1
    path.write_bytes(content)
    sample = last_sample(recorder.folder)
    assert sample is not None
    assert sample.used_bytes == 1001


def test_use_over_time_is_bounded_and_ends_now(recorder: Recorder) -> None:
    fill(recorder, 5000)
    points = use_over_time(recorder.folder, 300)
    assert 200 < len(points) <= 300
    assert [point.at_s for point in points] == sorted(point.at_s for point in points)
    assert points[0].at_s < 2
    assert points[-1] == Point(pytest.approx(499.9), 5999)


def test_samples_without_use_are_left_out(recorder: Recorder) -> None:
    recorder.sample(Sample(0.0, rss_bytes=5))
    recorder.sample(Sample(2.0, used_bytes=7))
    assert use_over_time(recorder.folder, 300) == [Point(2.0, 7)]


def test_thinning_keeps_the_peak_and_the_end() -> None:
    points = [Point(float(number), 10) for number in range(1000)]
    points[417] = Point(417.0, 99)
    kept = thinned(points, 50)
    assert len(kept) <= 50
    assert max(point.used_bytes for point in kept) == 99
    assert kept[-1].at_s == 999.0
    assert thinned(points[:20], 50) == points[:20]


def test_the_last_steps_of_the_guard_in_order(recorder: Recorder) -> None:
    for number in range(30):
        recorder.note("guard", float(number), text=f"step {number}", facts={"step": "warn"})
        recorder.note("note", float(number), text='of others, who write "kind":"guard"')
    steps = guard_events(recorder.folder, 5)
    assert [step.text for step in steps] == [f"step {number}" for number in range(25, 30)]
    assert steps[0].facts["step"] == "warn"


def test_the_last_sample_is_cheap(recorder: Recorder) -> None:
    """1.6 ms were measured on a full ring; a busy machine may take ten times as long."""
    fill(recorder, 5000)
    began = time.process_time()
    for _ in range(20):
        last_sample(recorder.folder)
    assert (time.process_time() - began) / 20 < 0.016
