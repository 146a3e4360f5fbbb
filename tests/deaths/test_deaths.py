"""The death bench as tests: every program really dies, two at a time, and the verdicts are held against the truth.

The targets are rates, because a few deaths race with the kernel; a wrong verdict that is called certain is never allowed.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest

from bench import group
from bench.deaths import runner, score
from bench.deaths.death import Death
from bench.deaths.manifest import DEATHS, HERE
from bench.deaths.score import Said

pytestmark = [
    pytest.mark.timeout(3000),
    pytest.mark.skipif(group.unavailable() is not None, reason=str(group.unavailable())),
]


@cache
def results() -> tuple[tuple[Death, runner.Ran, Said], ...]:
    with ThreadPoolExecutor(2) as pool:
        ran = list(pool.map(lambda death: runner.run(death, "crashcart"), HERE))
    return tuple((death, each, score.of_crashcart(death, each)) for death, each in zip(HERE, ran, strict=True))


def words(rows: list[tuple[Death, runner.Ran, Said]]) -> str:
    return "\n".join(f"{death.name}: {death.cause.value}, said {said.cause}" for death, _, said in rows)


def test_the_cause_is_right_in_95_percent() -> None:
    wrong = [row for row in results() if not row[2].cause_right]
    assert len(wrong) <= 0.05 * len(HERE), words(wrong)


def test_the_own_line_is_right_in_90_percent() -> None:
    with_line = [row for row in results() if row[2].line_right is not None]
    missed = [row for row in with_line if not row[2].line_right]
    assert len(missed) <= 0.10 * len(with_line), words(missed)


def test_nothing_that_is_wrong_is_called_certain() -> None:
    """A death that came out otherwise (a race with the kernel or with the machine's load) is run once more by itself."""
    wrong = [death for death, _, said in results() if said.certain_and_false]
    again = [(death, ran := runner.run(death, "crashcart"), score.of_crashcart(death, ran)) for death in wrong[:3]]
    assert len(wrong) <= 3, [death.name for death in wrong]
    assert [row for row in again if row[2].certain_and_false] == [], words(again)


def test_every_program_ends_under_crashcart_as_without() -> None:
    """A signal shows as 128 and its number, as in a shell."""
    others = [
        f"{death.name}: {ran.status} instead of {death.expect_status}"
        for death, ran, _ in results()
        if ran.status != (death.expect_status if death.expect_status >= 0 else 128 - death.expect_status)
    ]
    assert len(others) <= 0.02 * len(HERE), "\n".join(others)


def test_the_bench_is_large_and_names_the_seeds() -> None:
    assert len(DEATHS) >= 40
    assert sum(death.name.startswith("seed_") for death in DEATHS) == 15
    assert len({death.cause for death in DEATHS}) >= 28
