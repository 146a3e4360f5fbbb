"""The memory of one process that checks: one rule for this machine and for workers elsewhere."""

from __future__ import annotations

import pytest

from crashcart.cli.data_order import Order
from crashcart.data import dask_task, shares
from crashcart.data.pool import Limits
from crashcart.probe.cores import usable_cores

GIB = 1 << 30


@pytest.mark.parametrize(
    ("left_bytes", "processes", "share_bytes"),
    [(None, 4, 2 * GIB), (100 * GIB, 4, 2 * GIB), (4 * GIB, 3, GIB), (GIB, 4, GIB // 2)],
    ids=["unknown", "plenty", "a part of it", "never less than a process needs"],
)
def test_the_share_of_a_process(
    monkeypatch: pytest.MonkeyPatch, left_bytes: int | None, processes: int, share_bytes: int
) -> None:
    monkeypatch.setattr(shares, "left_bytes", lambda: left_bytes)
    assert shares.share_bytes(processes) == share_bytes


def test_no_more_processes_than_there_is_memory_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "left_bytes", lambda: GIB)
    assert (shares.most_processes(8), shares.most_processes(1)) == (2, 1)
    monkeypatch.setattr(shares, "left_bytes", lambda: None)
    assert shares.most_processes(8) == 8


def test_a_worker_of_a_cluster_takes_what_the_machine_itself_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "left_bytes", lambda: 3 * GIB)
    there = dask_task._held(Limits(5.0))
    assert there == Limits(5.0, memory_bytes=shares.share_bytes(usable_cores()))
    assert Order(("x",), timeout_s=5.0, workers=usable_cores()).limits == there
    assert dask_task._held(Limits(5.0, memory_bytes=GIB)).memory_bytes == GIB
