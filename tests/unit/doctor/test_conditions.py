"""Recorded conditions, each part both ways."""

from __future__ import annotations

from typing import Any

import pytest

from crashcart.doctor._conditions import holds, named
from tests.unit.doctor.ground import state

TF = {"tensorflow-cpu": "2.16.2", "keras": "3.5.0"}
YES: list[dict[str, Any]] = [
    {},
    {"has": {"tensorflow": ">=2.16"}},
    {"has": {"keras": ""}},
    {"lacks": ["tf-keras", "numpy"]},
    {"python": ">=3.11,<3.12"},
    {"system": ["Linux"]},
    {"architecture": ["x86_64"]},
    {"variables": {"A": ["1", "true"]}},
    {"minor": {"keras": "newer"}},
    {"minor": {"keras": "other"}},
    {"partner": {"keras": {"3.5": "==2.17.*"}}},
    {"any": [{"has": {"numpy": ""}}, {"has": {"keras": ">=3"}}]},
    {"unless": {"has": {"numpy": ""}}},
]
NO: list[dict[str, Any]] = [
    {"has": {"tensorflow": "<2.16"}},
    {"has": {"numpy": ""}},
    {"has": {"keras": "", "numpy": ""}},
    {"lacks": ["tf-keras", "keras"]},
    {"lacks": ["keras-nightly"]},
    {"python": ">=3.12"},
    {"system": ["Darwin"]},
    {"architecture": ["arm64"]},
    {"variables": {"A": ["0"]}},
    {"variables": {"B": ["1"]}},
    {"minor": {"keras": "older"}},
    {"minor": {"numpy": "other"}},
    {"partner": {"keras": {"3.5": "==2.16.*"}}},
    {"partner": {"keras": {"3.4": "==2.17.*"}}},
    {"any": []},
    {"unless": {"has": {"keras": ""}}},
]


@pytest.mark.parametrize("condition", YES, ids=str)
def test_holds(condition: dict[str, Any]) -> None:
    assert holds(condition, state(TF, variables={"A": "1"}))


@pytest.mark.parametrize("condition", NO, ids=str)
def test_does_not_hold(condition: dict[str, Any]) -> None:
    assert not holds(condition, state(TF, variables={"A": "1"}))


def test_a_version_that_cannot_be_compared_is_in_no_range_but_is_there() -> None:
    odd = state({"numpy": "unknown"})
    assert not holds({"has": {"numpy": ">=0"}}, odd)
    assert holds({"has": {"numpy": ""}}, odd)


def test_the_same_minor_is_neither_newer_nor_older() -> None:
    same = state({"tensorflow": "2.15.1", "keras": "2.15.0"})
    assert not any(holds({"minor": {"keras": how}}, same) for how in ("newer", "older", "other"))


def test_much_older_is_two_minor_versions_or_more() -> None:
    def much_older(keras: str) -> bool:
        return holds({"minor": {"keras": "much older"}}, state({"tensorflow": "2.15.1", "keras": keras}))

    assert [much_older(each) for each in ("2.13.1", "2.14.0", "2.15.0", "2.16.0", "1.9.0")] == [
        True,
        False,
        False,
        False,
        True,
    ]


def test_what_a_planned_package_asks_for_is_not_lacking() -> None:
    packages = {"keras": {"version": "3.0.5", "requires": ["dm-tree"]}}
    assert holds({"lacks": ["dm-tree"]}, state(packages))
    assert not holds({"lacks": ["dm-tree"]}, state(packages, plan="requirements.txt"))


def test_an_unknown_part_is_an_error_not_a_pass() -> None:
    with pytest.raises(KeyError):
        holds({"hsa": {}}, state(TF))


def test_names_of_all_parts() -> None:
    condition = {
        "has": {"a": ""},
        "lacks": ["b"],
        "minor": {"c": "other"},
        "partner": {"d": {}},
        "any": [{"has": {"e": ""}}],
    }
    assert named(condition) == {"a", "b", "c", "d", "e"}
