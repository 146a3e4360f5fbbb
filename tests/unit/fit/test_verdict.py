"""What real runs showed goes before what was estimated, in every form of the answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from crashcart.cli import fit
from crashcart.cli.fit_ask import Progress
from crashcart.cli.output import exit_code
from crashcart.errors import CannotCheckError
from crashcart.finding import Confidence
from crashcart.fit.available import Available
from crashcart.report.fit_words import title, verified
from crashcart.step import Bounds, StepPeak, Verified

LIMIT_BYTES = 1000
THERE = Available(LIMIT_BYTES, "given", "device", None, LIMIT_BYTES)


def answered(
    monkeypatch: pytest.MonkeyPatch, batch: int, high_bytes: int, largest: int | None, runs: dict[int, bool]
) -> StepPeak:
    """The step after `--verify`, where real runs end so."""

    def run(_: Any, at: int, limit_bytes: int, *rest: Any) -> Verified:
        if at not in runs:
            raise CannotCheckError("not known")
        return Verified(at, limit_bytes, runs[at], None, "in a memory group")

    monkeypatch.setattr("crashcart.cli.fit_trial.verified", run)
    step = StepPeak(
        "train",
        batch,
        high_bytes - 100,
        high_bytes - 200,
        high_bytes,
        available_bytes=LIMIT_BYTES,
        largest_batch=largest,
    )
    return fit._verified({"batch": batch}, step, THERE, 1e9, Progress(None))


@pytest.mark.parametrize(
    ("largest", "runs", "most"),
    [
        (70, {70: False, 64: False, 63: False, 56: True}, 56),
        (64, {64: False, 57: False, 51: False}, None),
        (64, {64: False}, None),
        (64, {64: False, 57: True}, 57),
    ],
)
def test_what_died_does_not_fit(
    monkeypatch: pytest.MonkeyPatch, largest: int, runs: dict[int, bool], most: int | None
) -> None:
    step = answered(monkeypatch, 64, 900, largest, runs)
    report, _ = fit.judged(step, "m")
    assert (step.fits, step.largest_batch) == (False, most)
    assert [each.batch for each in step.runs] == list(runs)
    assert report.findings[0].confidence is Confidence.CERTAIN and exit_code(report) != 0
    assert "does not fit" in title(step)
    assert report.figures["fits"] is False and len(report.figures["runs"]) == len(runs)


@pytest.mark.parametrize(
    ("high_bytes", "largest", "runs"),
    [(5000, 0, {64: True}), (1050, 60, {60: False, 54: True}), (900, 70, {70: False, 64: True}), (900, 70, {70: True})],
)
def test_what_lived_fits(monkeypatch: pytest.MonkeyPatch, high_bytes: int, largest: int, runs: dict[int, bool]) -> None:
    batch = 54 if largest == 60 else 64
    step = answered(monkeypatch, batch, high_bytes, largest, runs)
    report, _ = fit.judged(step, "m")
    assert step.fits is True and step.largest_batch == max(each for each, lived in runs.items() if lived)
    assert not report.findings and exit_code(report) == 0
    assert " fits" in title(step)


def test_the_largest_that_lived_counts_and_more_may_fit_where_none_died(monkeypatch: pytest.MonkeyPatch) -> None:
    step = answered(monkeypatch, 64, 900, 70, {70: True, 83: True, 132: False, 107: False, 95: False})
    assert (step.largest_batch, step.larger_may_fit) == (83, False)
    assert step.verified is not None and (step.verified.batch, step.verified.lived) == (83, True)
    assert verified(step).endswith(
        "; batch 70 lived" + "".join(f"; batch {batch} died (in a memory group)" for batch in (132, 107, 95))
    )
    open_end = answered(monkeypatch, 64, 900, 70, {70: True, 83: True})
    assert (open_end.largest_batch, open_end.larger_may_fit) == (83, True)
    assert open_end.assumed[-1] == "batch 132 could not be tried: not known"
    assert not answered(monkeypatch, 64, 900, 70, {70: True}).larger_may_fit
    back = answered(monkeypatch, 64, 900, 70, {64: True})
    assert (back.largest_batch, back.larger_may_fit) == (64, True), "the asked one, where the largest cannot be run"


def test_without_a_run_that_tells_the_estimate_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answered(monkeypatch, 64, 900, 70, {}).fits is True
    assert answered(monkeypatch, 64, 1050, 60, {60: True}).fits is None
    assert answered(monkeypatch, 64, 1150, 64, {}).fits is True
    assert answered(monkeypatch, 64, 5000, 0, {64: False, 57: False, 51: False}).largest_batch == 0
    assert answered(monkeypatch, 1, 900, 1, {1: False}).largest_batch == 0


def test_a_batch_of_one_between_its_bounds_is_not_said_not_to_fit() -> None:
    step = StepPeak("train", 64, 5000, 4000, 6000, available_bytes=LIMIT_BYTES, largest_batch=0)
    none, _ = fit.judged(step, "m")
    unsure, _ = fit.judged(replace(step, smallest=Bounds(900, 800, 1100)), "m")
    assert "not even a batch of one fits" in none.findings[0].remedy[-1]
    assert "no batch surely fits" in unsure.findings[0].remedy[-1]
