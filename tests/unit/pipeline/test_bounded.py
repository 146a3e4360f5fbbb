"""The same elements from bounded buffers. The checks are in `checks_bounded.py`, and run in a TensorFlow process."""

from __future__ import annotations

import importlib.util

import pytest

from bench.group import unavailable
from tests.unit.remedy.checking import names, outcomes

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed"),
    pytest.mark.timeout(1200),
]
MODULE = "tests.unit.pipeline.checks_bounded"


@pytest.fixture(scope="module")
def ran() -> dict[str, str | None]:
    return outcomes(MODULE)


@pytest.mark.parametrize("name", names(MODULE))
def test_check(ran: dict[str, str | None], name: str) -> None:
    assert ran[name] is None, ran[name]


@pytest.mark.parametrize("name", ["shuffle_after_decode", "records_interleaved"])
def test_it_lives_where_the_plain_one_is_killed(name: str) -> None:
    if why := unavailable():
        pytest.skip(why)
    from bench.pipeline.bounded import BUDGET_MB, LIMIT_MB, run

    plain, kills = run(name, "", LIMIT_MB)
    assert plain is None and kills == 1
    held, kills = run(name, f"{BUDGET_MB}MiB", LIMIT_MB)
    assert held is not None and kills == 0
    assert held["growth_bytes"] <= BUDGET_MB << 20
    assert held["elements"] in (3000, 3200)
