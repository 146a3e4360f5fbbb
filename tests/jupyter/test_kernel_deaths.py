"""Six deaths of the bench, by nbclient and by papermill: exception, executed notebook and report name cause and place."""

from __future__ import annotations

import pytest

from bench import group
from bench.notebooks import runner, score
from bench.notebooks.manifest import DEATHS

pytest.importorskip("papermill")

NAMES = ("scale_features", "clear_frame", "free_twice", "pickle_events", "terminated_training", "leave_at_once")
CHOSEN = [death for death in DEATHS if death.name in NAMES]


@pytest.mark.parametrize("death", CHOSEN, ids=lambda death: death.name)
def test_client_notebook_and_report_say_why(death: runner.Death) -> None:
    if death.limit_mb is not None and group.unavailable():
        pytest.skip(str(group.unavailable()))
    ran = runner.run(death, watched=True)
    said = score.of_watched(death, ran)
    assert said.right, f"{said}\n{ran.raised}: {ran.text}"


def test_the_bench_is_what_it_says() -> None:
    deaths = [death for death in DEATHS if death.cause is not None]
    assert len(CHOSEN) == len(NAMES)
    assert len(deaths) >= 24 and len({death.cause for death in deaths}) >= 10
    assert abs(2 * sum(death.client == "nbclient" for death in deaths) - len(deaths)) <= 1
    assert all(death.places for death in deaths)
