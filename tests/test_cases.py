"""Every rule over its cases: where it must fire, and where it must stay quiet."""

from __future__ import annotations

from pathlib import Path

import pytest

from crashcart.rule import Rule, examine, load_rules
from tests.cases.loader import read_case

CASES = Path(__file__).parent / "cases"
ROOMS: dict[str, tuple[Rule, ...]] = {"W": load_rules("crashcart.why"), "D": load_rules("crashcart.doctor")}
ROOMS["F"] = load_rules("crashcart.fit")
ROOMS["P"] = load_rules("crashcart.pipeline")
ROOMS["S"] = load_rules("crashcart.data")
ROOMS["L"] = load_rules("crashcart.leaks")
"""The rules of each room by the letter of their codes."""
RULES: dict[str, Rule] = {rule.code: rule for rules in ROOMS.values() for rule in rules}
FOLDERS = sorted(path for path in CASES.glob("[A-Z]*-*") if path.is_dir())


def _cases(kind: str) -> list[object]:
    paths = sorted(path for folder in FOLDERS for path in (folder / kind).glob("*.*"))
    return [pytest.param(path, id=f"{path.parent.parent.name}/{path.stem}") for path in paths]


@pytest.mark.parametrize("path", _cases("fires"))
def test_fires(path: Path) -> None:
    code = path.parent.parent.name.partition("-")[0]
    case = read_case(path)
    report = examine(case.evidence, ROOMS[code[0]])
    assert [each for each in report.unchecked if "failed" in " ".join(each.missing)] == []
    assert report.verdict is not None
    first = case.expect.get("verdict", code)
    assert report.verdict.code == first, f"{report.verdict.code} spoke first: {report.verdict.headline}"
    finding = next(each for each in report.findings if each.code == code)
    found = {
        "cause": finding.cause.value,
        "confidence": finding.confidence.value,
        "level": finding.level.value,
        "line": finding.where.line if finding.where else None,
    }
    expected = {name: value for name, value in case.expect.items() if name in found}
    assert {name: found[name] for name in expected} == expected
    assert finding.remedy and all(step.strip() for step in finding.remedy)
    assert finding.headline == finding.headline.strip() and "\n" not in finding.headline


@pytest.mark.parametrize("path", _cases("quiet"))
def test_stays_quiet(path: Path) -> None:
    code = path.parent.parent.name.partition("-")[0]
    case = read_case(path)
    assert case.why_quiet, "a quiet case says why"
    report = examine(case.evidence, ROOMS[code[0]])
    assert code in report.checked
    assert [finding.headline for finding in report.findings if finding.code == code] == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_folder_belongs_to_a_rule_and_has_both_kinds(folder: Path) -> None:
    code, _, name = folder.name.partition("-")
    assert code in RULES and RULES[code].name == name
    assert list((folder / "fires").glob("*.*"))
    assert list((folder / "quiet").glob("*.*"))
