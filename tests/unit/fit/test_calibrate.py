"""The calibration of the host's figure: what it fits, and that a family is judged without itself."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from bench.fit.calibrate import apart, by_phase, judge, predicted, spread_of
from bench.fit.manifest import PHASES
from crashcart.fit import host

MB = 1_000_000
TRUE = {"fixed": 20.0 * MB, "slack": 0.8, "operation": 40_000.0, "in_arenas": 0.1}


def rows(off: float = 0.0) -> list[dict[str, Any]]:
    """Four families, of each phase ten models that grow by what the true coefficients say; their slack is `off` by that part."""
    random, found = Random(1), []
    for number in range(80):
        live, slack = (random.randrange(10 * MB, 500 * MB) for _ in range(2))
        of = host.Parts(0, live, slack, random.randrange(live), random.randrange(50, 5000), 0)
        runs = [int(host.grown_bytes(of, TRUE) + off * of.slack_bytes * random.gauss(0, 1)) for _ in range(3)]
        row = {"name": f"m{number}", "family": "abcd"[number % 4], "phase": PHASES[number // 40], "batch": 1}
        row |= {"parts": of, "terms": host.terms(of), "truth": sorted(runs)[1], "runs": runs}
        found.append(row)
    return found


def test_coefficients_that_made_the_truths_are_found_again() -> None:
    for found in by_phase(rows()).values():
        assert found == pytest.approx(TRUE, rel=0.01)


def test_a_spread_is_found_in_the_part_that_has_it_and_in_no_other() -> None:
    random, found = Random(2), []
    for _ in range(400):
        unsure = {name: float(random.randrange(10, 100)) for name in ("slack", "besides", "live")}
        found.append((unsure, [random.gauss(0, 0.2 * unsure["slack"])]))
    spread = spread_of(found)
    assert spread["slack"] == pytest.approx(0.2, rel=0.15)
    assert spread["besides"] < 0.06 and spread["live"] < 0.06


def test_a_row_counts_once_however_often_it_ran() -> None:
    few = [({"slack": 100.0}, [10.0]), ({"slack": 100.0}, [30.0])]
    many = [({"slack": 100.0}, [10.0] * 9), ({"slack": 100.0}, [30.0])]
    assert spread_of(few) == pytest.approx(spread_of(many))


def test_a_family_is_judged_by_the_others_alone() -> None:
    plain, changed = rows(0.1), rows(0.1)
    for row in changed:
        if row["family"] == "a":
            row["truth"], row["runs"] = 3 * row["truth"], [3 * run for run in row["runs"]]
    judge(plain)
    judge(changed)
    for before, after in zip(plain, changed, strict=True):
        same = all(before[name] == pytest.approx(after[name]) for name in ("left_out", "below", "deviation"))
        assert same == (before["family"] == "a")


def test_bounds_hold_about_as_often_as_they_say() -> None:
    found = rows(0.1)
    judge(found)
    above = [(run / row["left_out"] - 1) / row["above"] for row in found for run in row["runs"]]
    assert sum(each > 1 for each in above) <= 0.04 * len(above)
    assert sum(each > 0.25 for each in above) >= 0.2 * len(above)


def test_what_was_built_is_the_least() -> None:
    of = host.Parts(900 * MB, 10 * MB, 0, 0, 10, 0)
    assert predicted({"parts": of}, TRUE) == 900 * MB


def test_it_says_how_far_runs_of_a_row_are_apart() -> None:
    assert "50% apart on median" in apart([{"runs": [100, 150, 100]}, {"runs": [70]}])
    assert apart([{"runs": [70]}]) == "each row ran once"
