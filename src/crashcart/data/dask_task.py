"""What runs on a worker of Dask: a bundle of files, checked as on one machine, in a process that may die of them.

Covers: one pool of one process for each thread of the worker, kept between tasks and ended when nothing has come for a
while; whether this worker has the same checks as the one that asks.
Does not cover: sending bundles and taking answers (`dask_engine.py`). The worker itself does not decode: a file that
crashes its decoder, takes too much memory or too long is contained here as it is anywhere (`pool.py`).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from crashcart import __version__
from crashcart.data.pool import Limits, Pool
from crashcart.data.shares import share_bytes
from crashcart.data.state import wanted_mark
from crashcart.probe.cores import usable_cores
from crashcart.probe.files_found import Found
from crashcart.sound import Checked, Wanted
from crashcart.survey import Restart

# Bundles follow each other within a second; a run that has ended leaves nothing behind for long.
_IDLE_S = 20.0


@dataclass(frozen=True)
class Bundle:
    """Files for one task, and what is asked of them."""

    files: Sequence[Found]
    wanted: Wanted
    job: str
    limits: Limits


@dataclass(frozen=True)
class Answer:
    """What a worker learnt of a bundle."""

    checked: list[Checked]
    mark: str
    """Of the checks that this worker has."""
    worker: str
    restarts: list[Restart] = field(default_factory=list)
    restarted: int = 0


def mark() -> str:
    """The release and the checks of this installation: what another one learns counts only if it has the same."""
    return f"{__version__} {_checks()}"


@cache
def _checks() -> str:
    return wanted_mark(Wanted())


def check_there(bundle: Bundle) -> Answer:
    """The task."""
    pool = _pools.take(bundle)
    known = pool.restarted
    checked = []
    try:
        pool.submit(bundle.files)
        while pool.busy:
            checked += pool.wait()
    except BaseException:
        pool.close()
        raise
    new = pool.restarted - known
    _pools.give_back(bundle, pool)
    return Answer(checked, mark(), _address(), list(pool.restarts[-new:]) if new else [], new)


def _address() -> str:
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:  # called as a plain function
        return "this process"


_Key = tuple[str, Wanted, Limits]


class _Pools:
    """The pools that wait for the next bundle; each is used by one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[_Key, list[Pool]] = {}
        self._timer: threading.Timer | None = None

    def take(self, bundle: Bundle) -> Pool:
        """A pool for these checks."""
        with self._lock:
            waiting = self._idle.get(_key(bundle))
            if waiting:
                return waiting.pop()
        return Pool(bundle.wanted, 1, _held(bundle.limits), bundle.job)

    def give_back(self, bundle: Bundle, pool: Pool) -> None:
        """Keep it for the next bundle, for a while."""
        with self._lock:
            self._idle.setdefault(_key(bundle), []).append(pool)
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(_IDLE_S, self.close)
            self._timer.daemon = True
            self._timer.start()

    def close(self) -> None:
        """End those that wait."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for pool in (each for waiting in idle.values() for each in waiting):
            with contextlib.suppress(OSError):
                pool.close()


def _key(bundle: Bundle) -> _Key:
    return bundle.job, bundle.wanted, bundle.limits


def _held(limits: Limits) -> Limits:
    """What the user said; else a share of what this machine, or this worker, has."""
    if limits.memory_bytes is not None:
        return limits
    return replace(limits, memory_bytes=share_bytes(usable_cores()))


_pools = _Pools()


def close_pools() -> None:
    """At the end of a run."""
    _pools.close()
