"""The judging rooms that the commands and pages know, and all their rules."""

from __future__ import annotations

from crashcart.rule import Rule

ROOMS = ("why", "doctor", "fit", "pipeline", "data", "leaks")


def all_rules() -> tuple[Rule, ...]:
    """The rules of all rooms, room after room."""
    from crashcart.rule import load_rules

    return tuple(rule for room in ROOMS for rule in load_rules(f"crashcart.{room}"))


def rule_names() -> dict[str, str]:
    """The rules' names by their codes."""
    return {each.code: each.name for each in all_rules()}
