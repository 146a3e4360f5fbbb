"""Sizes that only a trace or the data tell, against real runs. The checks are in `checks_shapes.py`."""

from __future__ import annotations

import importlib.util

import pytest

from tests.unit.remedy.checking import names, outcomes

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed"),
    pytest.mark.timeout(300),
]
MODULE = "tests.unit.fit.checks_shapes"


@pytest.fixture(scope="module")
def ran() -> dict[str, str | None]:
    return outcomes(MODULE)


@pytest.mark.parametrize("name", names(MODULE))
def test_check(ran: dict[str, str | None], name: str) -> None:
    assert ran[name] is None, ran[name]
