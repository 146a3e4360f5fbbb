"""The registry as a whole: every rule is documented, named for its pattern, unique, and has both cases."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from crashcart.cli.rooms import all_rules
from crashcart.finding import Cause
from crashcart.rule import Rule

RULES = all_rules()
CASES = Path(__file__).parent / "cases"
WHY = Path(__file__).resolve().parent.parent / "src" / "crashcart" / "why"


def test_codes_and_names_are_unique() -> None:
    assert len({rule.code for rule in RULES}) == len(RULES)
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_rule_is_documented_in_fixed_sections(rule: Rule) -> None:
    first, _, rest = rule.manual.partition("\n")
    assert first.endswith(".")
    assert re.findall(r"^## (.*)$", rest, re.MULTILINE) == ["What it means", "How we know", "What to do"]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_rule_names_the_pattern_and_lives_in_a_file_of_that_name(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", rule.name)
    assert not rule.name.startswith(("reduce-", "use-", "fix-", "increase-", "install-"))
    assert rule.judge.__module__.rpartition(".")[2] == rule.name.replace("-", "_")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_rule_has_a_case_in_which_it_fires_and_one_in_which_it_stays_quiet(rule: Rule) -> None:
    folder = CASES / f"{rule.code}-{rule.name}"
    for kind in ("fires", "quiet"):
        assert any((folder / kind).iterdir()), f"{folder.name}/{kind} is empty"


def test_every_cause_is_named_by_some_rule() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in WHY.glob("*.py"))
    missing = [cause.name for cause in Cause if f"Cause.{cause.name}" not in text]
    assert missing == []
