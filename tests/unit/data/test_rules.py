"""The rules as a whole: every kind of fault is spoken of by exactly one, in words that fit one file and many."""

from __future__ import annotations

from collections import Counter
from importlib import import_module

from crashcart.data import examine_files, rules
from crashcart.evidence import Evidence
from crashcart.sound import KINDS, WEIGHTS
from crashcart.survey import Example, KindCount, Survey


def test_every_kind_belongs_to_one_rule() -> None:
    spoken = Counter(
        kind for each in rules() for kind in getattr(import_module(each.judge.__module__), "KINDS", ()) if each.code
    )
    assert spoken == Counter(dict.fromkeys(KINDS, 1))


def test_every_kind_at_every_weight_is_one_finding() -> None:
    for files in (1, 3):
        kinds = tuple(
            KindCount(kind, weight, files, 7, (Example("a", "seen", "row 3"),)) for kind in KINDS for weight in WEIGHTS
        )
        report = examine_files(Evidence(survey=Survey(10, 10, 0, kinds=kinds)), "data")
        assert len(report.findings) == len(kinds) and not report.unchecked
        assert all(each.headline.startswith(f"{files} of 10 files ") for each in report.findings)
        assert all("a, row 3: seen" in each.because for each in report.findings)


def test_a_library_is_only_advised_where_one_is_missing() -> None:
    advised = {}
    for kind in ("not-checked", "no-library"):
        kinds = (KindCount(kind, "unchecked", 1, 1, (Example("a.ogg", "there is no check of this format"),)),)
        (found,) = examine_files(Evidence(survey=Survey(10, 10, 0, kinds=kinds)), "data").findings
        advised[kind] = any("pip install" in each for each in found.remedy)
    assert advised == {"not-checked": False, "no-library": True}


def test_a_place_that_the_detail_names_is_not_named_twice() -> None:
    examples = (Example("a.csv", "row 22 has 1 column", "row 22"), Example("b.csv", "row 220 has 1 column", "row 22"))
    kinds = (KindCount("row-width", "damage", 2, 2, examples),)
    (found,) = examine_files(Evidence(survey=Survey(10, 10, 0, kinds=kinds)), "data").findings
    assert found.because == ("a.csv: row 22 has 1 column", "b.csv, row 22: row 220 has 1 column")


def test_without_a_survey_everything_is_unchecked() -> None:
    report = examine_files(Evidence(), "data")
    assert not report.checked and len(report.unchecked) == len(rules())
