"""Real programs under the guard: some that the kernel kills without it, some that must not notice it."""

from __future__ import annotations

import pytest

from bench import group, trial
from bench.alarms.__main__ import measure as measure_alarm
from bench.alarms.manifest import ALARMS
from bench.survive import outcome
from bench.survive.manifest import THREATS

pytestmark = [
    pytest.mark.skipif(group.unavailable() is not None, reason=str(group.unavailable())),
    pytest.mark.timeout(200),
    pytest.mark.alone,  # who guards needs a share of a core while memory runs short
]
LIVE_ON = (
    "numpy_one_array", "numpy_zeros_filled", "pandas_merge", "objects_list_of_dicts", "json_loads", "threads_rows",
    "child_pool", "child_process", "session_rows", "tensor_one_hot", "fit_large_batch", "data_cache",
)  # fmt: skip
UNDISTURBED = (
    "one_block", "small_objects", "sparse_zeros", "sparse_mapping", "spikes", "page_cache", "forked_pool", "many_threads",
    "churn", "absurd_request", "own_signals", "preloaded", "address_space", "closed_descriptors", "replaced",
)  # fmt: skip


@pytest.mark.parametrize("name", LIVE_ON)
def test_a_program_that_would_be_killed_lives_on(name: str) -> None:
    threat = next(each for each in THREATS if each.name == name)
    ran = trial.run(threat.as_program(), guarded=True, report=True)
    found = outcome.of_guarded(threat, ran)
    assert found.lived, f"{found.words}\n{ran.stderr[-2000:]}"


@pytest.mark.parametrize("name", UNDISTURBED)
def test_a_program_that_uses_memory_rightly_is_not_disturbed(name: str) -> None:
    row = measure_alarm(next(each for each in ALARMS if each.name == name))
    assert row.disturbed is None, row.disturbed
