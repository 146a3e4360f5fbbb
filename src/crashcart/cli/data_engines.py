"""Who checks the files of `crashcart data`: the processes of this machine, or a cluster of Dask.

Covers: choosing, and keeping a cluster for the whole run. Does not cover: either of them (`data/pool.py`, `data/dask_engine.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

from crashcart.data.chunk import CHECK
from crashcart.data.engine import Executor
from crashcart.data.pool import Limits, Pool
from crashcart.survey import Restart

if TYPE_CHECKING:
    from crashcart.cli.data_order import Order

LOCAL, DASK = "local", "dask"


class Engine(Executor, Protocol):
    """An executor that tells what it went through."""

    restarts: list[Restart]
    restarted: int


Engines = Callable[..., AbstractContextManager[Engine]]
"""Gives an engine for a job; without one, for the check."""


@contextmanager
def engines(order: Order) -> Iterator[Engines]:
    """What the user asked for. CannotCheckError where it cannot be had."""
    if order.engine == LOCAL:
        yield lambda job=CHECK: Pool(order.wanted, order.processes, order.limits, job, order.may_fork)
        return
    from crashcart.data.dask_cluster import cluster
    from crashcart.data.dask_engine import Spread

    limits = Limits(order.timeout_s, memory_bytes=order.given_memory_bytes)
    with cluster(order.scheduler, order.processes, order.paths) as found:
        yield lambda *job: Spread(found, order.wanted, limits, *job)
