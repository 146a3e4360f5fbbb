"""The remedies give what the plain form gives, and take less. The checks are in `checks_*.py`, and run in a TensorFlow process each."""

from __future__ import annotations

import importlib.util

import pytest

from tests.unit.remedy.checking import names, outcomes

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed"),
    pytest.mark.timeout(1600),
]
MODULES = tuple(f"tests.unit.remedy.checks_{each}" for each in ("accumulate", "remat", "chunks"))


@pytest.fixture(scope="module")
def ran() -> dict[str, dict[str, str | None]]:
    return {}


@pytest.mark.parametrize("module, name", [(module, name) for module in MODULES for name in names(module)])
def test_check(ran: dict[str, dict[str, str | None]], module: str, name: str) -> None:
    if module not in ran:
        ran[module] = outcomes(module)
    assert ran[module][name] is None, ran[module][name]
