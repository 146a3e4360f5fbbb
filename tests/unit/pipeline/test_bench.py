"""What the benches of the pipeline say of their rows: aims that were met, aims that were not, and the exit code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.pipeline import __main__ as bench
from bench.pipeline import bounded, bounded_speed


def row(
    name: str = "images_augmented", fits: bool | None = True, died: bool = False, held: int = 100
) -> dict[str, Any]:
    growth = None if died else 100
    return {
        "name": name,
        "died": died,
        "growth_bytes": growth,
        "held_bytes": held,
        "high_bytes": 200,
        "fits": fits,
        "seconds": 1.0,
    }


def test_truths_are_kept_for_the_version_of_tensorflow_that_they_were_measured_with() -> None:
    names = json.loads(bench.TRUTHS.read_text(encoding="utf-8"))
    assert all(" " in name and name.split("/")[1].startswith("tensorflow ") for name in names)
    assert {name.split("/")[0] for name in names} == set(bench.LIMIT_MB)


def test_a_truth_of_another_version_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "version", lambda name: "2.99.0")
    assert bench.key("many_calls") == "many_calls/tensorflow 2.99.0"
    assert bench.key("many_calls") not in bench.stored()


def test_every_aim_is_said_to_be_met_or_not() -> None:
    good = [row() for _ in range(15)] + [row("cache_too_large", False, died=True)]
    assert all(line.startswith("- met: ") for line in bench.aims(good)) and not bench.missed(good)
    for wrong, said in (
        (row(fits=False), "no kill is said of those that live (15 of 16; wrong: images_augmented)"),
        (
            row("cache_too_large", None, died=True),
            "every kill is said of those that die (1 of 2; wrong: cache_too_large)",
        ),
    ):
        rows = [*good, wrong]
        assert [line for line in bench.aims(rows) if "not met" in line] == [f"- **not met**: {said}"]
        assert bench.missed(rows) or bench.false_alarms(rows)
    assert "**not met**: median error" in bench.report([row(held=150)] * 20)
    assert "**not met**: at least 16" in bench.report([row()])


@pytest.mark.parametrize(
    ("rows", "code"), [([row()], 0), ([row(fits=False)], 1), ([row("cache_too_large", True, died=True)], 1)]
)
def test_a_kill_that_was_missed_or_wrongly_said_is_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, rows: list[dict[str, Any]], code: int
) -> None:
    monkeypatch.setattr("sys.argv", ["bench.pipeline", *(each["name"] for each in rows)])
    monkeypatch.setattr(bench, "unavailable", lambda: None)
    known = {bench.key(each["name"]): {"died": each["died"], "growth_bytes": each["growth_bytes"]} for each in rows}
    monkeypatch.setattr(bench, "stored", lambda: known)
    monkeypatch.setattr(bench, "estimated", lambda name: next(each for each in rows if each["name"] == name))
    assert bench.main() == code


def test_a_bounded_pipeline_is_good_only_within_its_budget_and_with_the_same_elements() -> None:
    good = {
        "name": "x",
        "plain": "killed (1)",
        "kills": 0,
        "growth_bytes": 9,
        "elements": 3,
        "same": True,
        "order": False,
    }
    assert bounded.is_good(good) and bounded.is_good({**good, "same": None, "order": None})
    for wrong in ({"same": False}, {"growth_bytes": 1 << 40}, {"kills": 1}, {"growth_bytes": None, "elements": None}):
        assert not bounded.is_good({**good, **wrong})
        assert "**not met**" in bounded.report([good, {**good, **wrong}])
    assert "- met: " in bounded.report([good])


def test_the_slowest_bounded_pipeline_decides() -> None:
    fast = {"plain": [1.0, 1.0, 1.0], "bounded": [1.0, 1.0, 1.0], "explained": [1.0, 1.0, 1.0]}
    slow = {**fast, "bounded": [2.0, 2.0, 2.0]}
    assert "- met: " in bounded_speed.report({"a": fast}, 3)
    assert "**not met**" in (text := bounded_speed.report({"a": fast, "b": slow}, 3)) and "b, 0.50" in text
