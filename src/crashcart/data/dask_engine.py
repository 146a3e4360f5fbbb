"""An executor over a cluster of Dask: bundles of files as tasks, few of them on the way at a time.

Covers: chunks gathered into bundles that are worth a task; answers in any order; workers that are lost (Dask runs their tasks
again elsewhere; what is answered twice counts once, by the state); tasks that kill each worker that they come to; names as they
were typed here, and absolute there: a worker has another working directory.
The suspects of such a task are run one at a time, with nothing else on the way, and cut into parts until one file is left.
Does not cover: what a worker does (`dask_task.py`), which cluster it is (`dask_cluster.py`).
"""

from __future__ import annotations

import contextlib
import os
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any
from uuid import uuid4

from crashcart.data.chunk import CHECK
from crashcart.data.dask_cluster import TIMEOUTS, Cluster
from crashcart.data.dask_task import Answer, Bundle, check_there, mark
from crashcart.data.pool import Limits
from crashcart.errors import CannotCheckError
from crashcart.probe.file_source import LocalFile
from crashcart.probe.files_found import Found
from crashcart.sound import UNCHECKED, Checked, Fault, Wanted
from crashcart.survey import Restart

# A task costs a scheduler about a millisecond, a small file takes a worker 30 µs or more: 256 of them are worth a task, and
# so are 16 MiB, which take a tenth of a second.
BUNDLE_FILES = 256
BUNDLE_BYTES = 16 << 20
# On the way for each thread: one that is worked at, one that waits, one that is being sent.
_AHEAD = 3
_LOOK_S = 0.25
_PARTS = 8
"""Into which a deadly bundle is cut: three rounds find one file among 256."""
_GATHER_S = 60
_TRIES = 3
_MOST_RESTARTS = 20


@dataclass
class _Task:
    files: Sequence[Found]
    suspect: bool = False
    """A task with these files, among others, has killed its workers."""
    tries: int = 0


class Spread:
    """An executor on a cluster."""

    def __init__(self, cluster: Cluster, wanted: Wanted, limits: Limits | None = None, job: str = CHECK) -> None:
        self._cluster = cluster
        self._bundle: Callable[[Sequence[Found]], Bundle] = lambda files: Bundle(files, wanted, job, limits or Limits())
        self._gathered: list[Found] = []
        self._gathered_bytes = 0
        self._waiting: deque[_Task] = deque()
        self._suspects: deque[_Task] = deque()
        self._sent: dict[Any, _Task] = {}
        self._numbers = count()
        self._name = f"crashcart-{uuid4().hex[:12]}"
        self.restarts: list[Restart] = []
        self.restarted = 0

    @property
    def full(self) -> bool:
        """Whether more would only wait."""
        return len(self._sent) + len(self._waiting) + len(self._suspects) >= self._cluster.threads * _AHEAD

    @property
    def busy(self) -> bool:
        """Whether there is anything left to wait for."""
        return bool(self._gathered or self._waiting or self._suspects or self._sent)

    def submit(self, files: Sequence[Found]) -> None:
        """Have these files checked, in one bundle with those before or after them."""
        self._gathered += files
        self._gathered_bytes += sum(each.bytes or 0 for each in files)
        if len(self._gathered) >= BUNDLE_FILES or self._gathered_bytes >= BUNDLE_BYTES:
            self._close_bundle()
            self._send()

    def wait(self) -> list[Checked]:
        """What was learnt since the last call; waits until there is something, or for a moment."""
        self._close_bundle()
        self._send()
        return [checked for future in self._done() for checked in self._taken(future, self._sent.pop(future))]

    def _close_bundle(self) -> None:
        if self._gathered:
            self._waiting.append(_Task(self._gathered))
            self._gathered, self._gathered_bytes = [], 0

    def _send(self) -> None:
        """What waits, as far as there is room. A suspect goes alone: whoever dies then, dies of it."""
        if any(task.suspect for task in self._sent.values()):
            return
        if self._suspects:
            if not self._sent:
                self._send_one(self._suspects.popleft())
            return
        while self._waiting and len(self._sent) < self._cluster.threads * _AHEAD:
            self._send_one(self._waiting.popleft())

    def _send_one(self, task: _Task) -> None:
        key = f"{self._name}-{next(self._numbers)}"
        with self._told_if_gone():
            future = self._cluster.client.submit(
                check_there, self._bundle([_absolute(each) for each in task.files]), key=key, pure=False
            )
        self._sent[future] = task

    def _done(self) -> list[Any]:
        import distributed

        wait: Any = distributed.wait  # it has no types
        if not self._sent:
            return []
        with self._told_if_gone():
            try:
                return list(wait(list(self._sent), timeout=_LOOK_S, return_when="FIRST_COMPLETED").done)
            except TIMEOUTS:
                _ = self._cluster.threads  # tells where nobody is left
                return []
            except Exception:  # a future was cancelled: that one is done, in its way
                return [each for each in self._sent if each.done()]

    def _taken(self, future: Any, task: _Task) -> list[Checked]:
        """What the answer to a task is worth; what it leaves open is sent again."""
        try:
            if future.status == "finished":
                return list(self._counted(future.result(timeout=_GATHER_S), task))
            if future.status == "error":
                return self._failed(future.exception(timeout=_GATHER_S), task)
            return self._again(task, f"it was {future.status}")
        except (
            *TIMEOUTS,
            OSError,
        ) as error:  # the worker that has the answer is gone: Dask has it made again, or we do
            return self._again(task, f"{type(error).__name__}: {error}")
        finally:
            with contextlib.suppress(Exception):
                future.release()

    def _counted(self, answer: Answer, task: _Task) -> Iterator[Checked]:
        if answer.mark != mark():
            told = f"the worker {answer.worker} has crashcart {answer.mark.split()[0]} with other checks than this one"
            raise CannotCheckError(
                told, f"This is {mark().split()[0]}: install the same there; the same command again goes on."
            )
        self.restarted += answer.restarted
        here: dict[str, list[Found]] = defaultdict(list)
        for each in task.files:
            here[_absolute(each).source.path].append(each)
        for restart in answer.restarts[: _MOST_RESTARTS - len(self.restarts)]:
            typed = here[restart.path][0].source.path if restart.path in here else restart.path
            self.restarts.append(replace(restart, path=typed))
        for checked in answer.checked:
            found = here[checked.path].pop()
            mine = replace(checked, path=found.source.path)
            yield _unseen(mine, answer.worker) if _is_blind(mine, found) else mine

    def _failed(self, error: Exception, task: _Task) -> list[Checked]:
        if type(error).__name__ != "KilledWorker":
            return self._again(task, f"{type(error).__name__}: {error}")
        if len(task.files) > 1:
            self._suspects.extend(_Task(part, suspect=True) for part in _parts(task.files))
            return []
        if not task.suspect:
            self._suspects.append(_Task(task.files, suspect=True))
            return []
        return [_deadly(task.files[0], str(getattr(error, "allowed_failures", 3) + 1))]

    def _again(self, task: _Task, why: str) -> list[Checked]:
        task.tries += 1
        if task.tries < _TRIES:
            (self._suspects if task.suspect else self._waiting).appendleft(task)
            return []
        told = f"the cluster failed {_TRIES} times to check it: {' '.join(why.split())[:300]}"
        return [_not_checked(each.source.path, told) for each in task.files]

    @contextlib.contextmanager
    def _told_if_gone(self) -> Iterator[None]:
        """A client that has lost its scheduler says so in many ways."""
        try:
            yield
        except Exception as error:
            if isinstance(error, CannotCheckError) or self._cluster.client.status == "running":
                raise
            told = f"the scheduler at {self._cluster.address} is gone"
            raise CannotCheckError(told, "Begin it again; the same command again goes on from here.") from error

    def close(self) -> None:
        """Drop what is on the way. It is lost, and nothing else."""
        futures, self._sent = list(self._sent), {}
        if futures:
            with contextlib.suppress(Exception):
                self._cluster.client.cancel(futures, force=True)

    def __enter__(self) -> Spread:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _parts(files: Sequence[Found]) -> Iterator[Sequence[Found]]:
    step = -(-len(files) // _PARTS)
    return (files[at : at + step] for at in range(0, len(files), step))


def _absolute(found: Found) -> Found:
    """The file by a name that means the same in every folder."""
    if not isinstance(found.source, LocalFile) or os.path.isabs(found.source.path):
        return found
    return replace(found, source=LocalFile(os.path.abspath(found.source.path)))


def _is_blind(checked: Checked, found: Found) -> bool:
    """The worker says that there is no such file, and there is: it does not see what we see."""
    if found.source.local is None or found.bytes is None:
        return False
    return any(each.kind == "missing" for each in checked.faults) and os.path.exists(found.source.local)


def _unseen(checked: Checked, worker: str) -> Checked:
    return _not_checked(checked.path, f"the worker {worker} does not see this file, which is there")


def _not_checked(path: str, told: str) -> Checked:
    return Checked(path, faults=(Fault("not-fetched", told, weight=UNCHECKED),))


def _deadly(found: Found, deaths: str) -> Checked:
    """No accusation: its decoder runs in a process of its own there, and machines are taken away for many reasons."""
    told = f"each of {deaths} workers was lost while it checked this file, with nothing else on the way"
    return replace(_not_checked(found.source.path, told), bytes=found.bytes, modified_ns=found.modified_ns)
