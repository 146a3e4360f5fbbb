"""The records of `facts/conflicts.json`, and the releases that their cures name."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet

from crashcart.doctor._change import state_of
from crashcart.doctor._conditions import holds
from crashcart.doctor._facts import facts
from crashcart.doctor._index import pythons_of
from crashcart.doctor._known import known
from crashcart.finding import Confidence, Level
from tests.cases.loader import read_case
from tests.unit.doctor.ground import state

RECORDS: list[dict[str, Any]] = facts("conflicts")["records"]
CASES = sorted((Path(__file__).parents[2] / "cases").glob("D10[2345]*/fires/*.json"))
by_id = pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["id"])


@by_id
def test_a_record_is_complete(record: dict[str, Any]) -> None:
    assert Level(record["level"]) and Confidence(record["confidence"])
    assert record["rule"] in ("D102", "D103", "D104", "D105")
    assert record["headline"] and record["because"]
    assert record["cures"] or record["advice"]
    certain = record["confidence"] == "certain"
    assert record["reproduced"] or not certain, "what was not run is not certain"


@by_id
def test_its_condition_can_be_evaluated_and_does_not_hold_in_an_empty_environment(record: dict[str, Any]) -> None:
    assert not holds(record["when"], state({"setuptools": None}))


@cache
def _shown() -> frozenset[str]:
    shown = set()
    for evidence in (read_case(path).evidence for path in CASES):
        assert evidence.installation is not None
        shown |= {each.key for each in known(state_of(evidence.installation, evidence.environment))}
    return frozenset(shown)


@by_id
def test_a_case_shows_it(record: dict[str, Any]) -> None:
    assert record["id"] in _shown() | {"keras2.8-tf2.7", "keras2.9-tf2.8", "keras2.12-tf2.10"}  # below


@by_id
def test_every_range_of_a_cure_has_a_release(record: dict[str, Any]) -> None:
    for cure in record["cures"]:
        for name, specifier in cure.get("install", {}).items():
            if name != "tensorflow":
                wanted = SpecifierSet(specifier.replace("{minor}", "2.16").replace("==2.16.*", "") or "")
                assert any(wanted.contains(each) for each in facts("remedies")[name])


@pytest.mark.parametrize(("tensorflow", "keras"), [("2.7.4", "2.8.0"), ("2.8.4", "2.9.0"), ("2.10.1", "2.12.0")])
def test_the_other_measured_pairs_of_keras(tensorflow: str, keras: str) -> None:
    first = next(known(state({"tensorflow": tensorflow, "keras": keras}, python="3.9.18"), "D103"))
    assert first.confidence is Confidence.CERTAIN
    assert dict(first.cures[0].install)["keras"].rpartition(".")[0] == tensorflow.rpartition(".")[0]


def test_the_index_knows_every_release_that_a_remedy_may_name() -> None:
    for name, named in facts("remedies").items():
        assert named and all(pythons_of(name, each) for each in named), name
