"""The cluster of Dask that a run uses: one that is there, or one of its own on this machine.

Covers: connecting, or beginning a LocalCluster; whether its workers have the same crashcart and see the same files,
before any file is judged there; how many threads it has now; ending what was begun.
Does not cover: the work (`dask_engine.py`), or making a cluster on other machines, which is for Dask's own tools.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from crashcart import __version__
from crashcart.data.dask_task import close_pools, mark
from crashcart.errors import CannotCheckError
from crashcart.probe.files_remote import is_remote
from crashcart.units import plural

TIMEOUTS = (TimeoutError, asyncio.TimeoutError)
"""Two kinds until Python 3.11; Dask raises the second."""
_ANSWER_S = 20
_LOOK_S = 2.0
# A machine that is begun anew takes a minute or two to come back.
PATIENCE_S = 120.0
_MOST_NAMED = 5
# Run by the worker before it is known whether it has any crashcart: an expression, which needs nothing there.
_ASK = (
    "[getattr(__import__('crashcart'), '__version__', None),"
    " __import__('crashcart.data.dask_task', fromlist=['mark']).mark(),"
    " [path for path in {paths!r} if not __import__('os').path.lexists(path)]]"
)


class Cluster:
    """A client of a scheduler, and what is known of its workers."""

    def __init__(self, client: Any, address: str, paths: Sequence[str] = ()) -> None:
        self.client = client
        self.address = address
        self._paths = [os.path.abspath(each) for each in paths if not is_remote(each) and os.path.lexists(each)]
        self._threads = 0
        self._looked_s = float("-inf")
        self._seen_s = time.monotonic()

    @property
    def threads(self) -> int:
        """How many threads its workers have; at least 1, since those that are gone may come back. CannotCheckError where
        the scheduler is gone, or no worker has been there for `PATIENCE_S`."""
        now_s = time.monotonic()
        if now_s - self._looked_s >= _LOOK_S:
            self._threads = sum(self._ask(self.client.nthreads).values())
            self._looked_s = now_s
        if self._threads:
            self._seen_s = now_s
        elif now_s - self._seen_s > PATIENCE_S:
            told = f"no worker has been at {self.address} for {PATIENCE_S:.0f} s"
            raise CannotCheckError(told, "Begin workers; the same command again goes on from here.")
        return max(1, self._threads)

    def _ask(self, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except (OSError, *TIMEOUTS, ValueError, RuntimeError) as error:
            told = f"the scheduler at {self.address} does not answer: {error}"
            raise CannotCheckError(told, "Begin it again; the same command again goes on from here.") from error

    def examine(self) -> None:
        """CannotCheckError where a worker could not give an answer that counts."""
        answers = self.client.run(eval, _ASK.format(paths=self._paths), on_error="return")
        for say in (_without, _of_another_version, _blind):
            found = {worker: told for worker, answer in answers.items() if (told := say(answer))}
            if found:
                raise _unfit(found)

    def close(self) -> None:
        """Leave no process of ours on the workers."""
        with contextlib.suppress(Exception):
            self.client.run(close_pools, on_error="ignore")


_Told = tuple[str, str]
"""What is the matter with a worker, and what to do."""
_INSTALL = "Install the same release on all workers: pip install crashcart=={}"


def _without(answer: Any) -> _Told | None:
    if isinstance(answer, ModuleNotFoundError) and answer.name == "crashcart":
        return "has no crashcart", _INSTALL.format(__version__)
    return None


def _of_another_version(answer: Any) -> _Told | None:
    if isinstance(answer, Exception):
        told = f"has another crashcart than this {__version__}, or cannot load it ({type(answer).__name__}: {answer})"
        return told, _INSTALL.format(__version__)
    if answer[1] != mark():
        other = answer[0] if answer[0] != __version__ else f"{answer[0]} with other checks"
        return f"has crashcart {other}, this is {__version__}", _INSTALL.format(__version__)
    return None


def _blind(answer: Any) -> _Told | None:
    if not answer[2]:
        return None
    help = "Put the files on storage that all workers share, or name them by s3://, gs:// or https://."
    return f"does not see {', '.join(answer[2][:_MOST_NAMED])}", help


def _unfit(found: dict[str, _Told]) -> CannotCheckError:
    worker, (told, help) = min(found.items())
    more = f" (and {plural(len(found) - 1, 'more worker', 'more workers')})" if len(found) > 1 else ""
    return CannotCheckError(f"the worker {worker} {told}{more}", help)


@contextmanager
def cluster(scheduler: str | None, workers: int, paths: Sequence[str]) -> Iterator[Cluster]:
    """The cluster of a scheduler; without one, a cluster of as many processes on this machine, ended afterwards."""
    distributed = _distributed()
    with _quiet(), contextlib.ExitStack() as stack:
        if scheduler is None:
            local = stack.enter_context(_own(distributed, workers))
            client, address = stack.enter_context(distributed.Client(local)), "this machine"
        else:
            client, address = stack.enter_context(_connected(distributed, scheduler)), scheduler
        found = Cluster(client, address, paths)
        _wait_for_workers(client, address)
        found.examine()
        stack.callback(found.close)
        yield found


def _distributed() -> Any:
    try:
        import distributed
    except ModuleNotFoundError as error:
        told = f"--engine dask needs {error.name}, which is not installed"
        raise CannotCheckError(
            told, "pip install 'crashcart[dask]', or leave out --engine: all cores are used."
        ) from error
    return distributed


@contextmanager
def _own(distributed: Any, workers: int) -> Iterator[Any]:
    """A worker that dies comes back. Dask would give it up for good if it happens to be away 15 s after an earlier death."""
    import dask

    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 day"}),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            silence_logs=logging.CRITICAL,
            dashboard_address=":0",
            scheduler_kwargs={"dashboard": False},  # no page, and no fight for its port
        ) as made,
    ):
        yield made


def _connected(distributed: Any, scheduler: str) -> Any:
    try:
        return distributed.Client(scheduler, timeout=_ANSWER_S, set_as_default=False)
    except (OSError, *TIMEOUTS, ValueError) as error:
        raise CannotCheckError(
            f"no scheduler of Dask answers at {scheduler}: {error}", "Begin one by `dask scheduler`; it says its address, such as tcp://10.0.0.1:8786."
        ) from error  # fmt: skip


def _wait_for_workers(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=_ANSWER_S)
    except TIMEOUTS as error:
        told = f"the scheduler at {address} has no workers"
        raise CannotCheckError(told, f"Begin some: dask worker {address}") from error


_LOGGERS = ("distributed", "tornado.application", "asyncio")


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask tells the user's terminal of each worker that it loses, and so do the loops that it runs in; what matters of that is
    in the report. Some of the loggers below have levels of their own."""
    known = list(logging.root.manager.loggerDict)
    names = {*_LOGGERS, *(each for each in known if each.startswith(tuple(f"{name}." for name in _LOGGERS)))}
    loggers = [logging.getLogger(each) for each in names]
    before = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for each, level in zip(loggers, before, strict=True):
            each.setLevel(level)
