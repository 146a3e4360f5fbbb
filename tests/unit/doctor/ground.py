"""Environments for the tests, by the versions that are in them."""

from __future__ import annotations

from typing import Any

from crashcart.doctor._change import State
from tests.cases.loader import evidence_from_json


def state(
    packages: dict[str, Any], python: str = "3.11.7", variables: dict[str, str] | None = None, **further: Any
) -> State:
    evidence = evidence_from_json({"installed": {"python": python, "packages": packages, **further}})
    assert evidence.installation is not None
    return State(evidence.installation, variables or {})
