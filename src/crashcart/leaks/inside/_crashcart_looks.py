"""A look: what a process is made of at one moment, in some microseconds.

Covers: resident and private bytes, blocks of Python's heap, threads, descriptors, children; and whether memory rises
steadily, which only decides whether a closer look is worth its price.
Does not cover: judging growth (`trend.py` does, afterwards and from outside).
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself costs 5 ms
    from typing import Any

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
LEAST_POINTS = 18
MOST_POINTS = 48
LEAST_RISE_BYTES = 3 << 20
"""Half of what the report finds worth a word. Below 2 MiB the allocator's own steps look like growth."""
LEAST_RISE_BLOCKS = 20_000
"""About as much; cycles that wait for the collector come to thousands."""
LEAST_RISE_SHARE = 0.005
"""The same as a share of what there is."""
EVEN, GOES_ON = 0.4, 0.6
"""Of an even share: what each stretch has to bring, and the last one. The first hundred batches of a training take memory, ever
less of it: a small `fit` of a process of 300 MiB took 30 MiB in them, and closer looks at that took 0.6 s of its first 5."""


class Looks:
    """Reads the process through descriptors that it keeps, far above the program's own."""

    def __init__(self, lowest_descriptor: int, is_theirs: Any = None) -> None:
        self._lowest = lowest_descriptor
        self._is_theirs = is_theirs
        self._statm = -1

    def memory(self) -> tuple[int, int, int]:
        """Resident bytes, those that belong to the process alone (the kernel's RssAnon), and what it has reserved (VmData and
        stack), whether touched or not."""
        try:
            resident, shared, data = self._read()
        except (OSError, ValueError, IndexError) as failure:  # not open yet, or the program closed all descriptors
            self._let_pass(failure)
            self._statm = _high(os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC), self._lowest)
            resident, shared, data = self._read()
        return resident * _PAGE_BYTES, max(0, resident - shared) * _PAGE_BYTES, data * _PAGE_BYTES

    def _read(self) -> tuple[int, int, int]:
        fields = os.pread(self._statm, 128, 0).split()
        return int(fields[1]), int(fields[2]), int(fields[5])

    def cheap(self) -> dict[str, Any]:
        """What every look has. What our own following of allocations takes is not the program's."""
        resident, private, data = self.memory()
        found: dict[str, Any] = {}
        tracing = sys.modules.get("_tracemalloc")
        if tracing is not None and tracing.is_tracing():
            own = tracing.get_tracemalloc_memory()
            resident, private, data = max(0, resident - own), max(0, private - own), max(0, data - own)
            found["python"] = tracing.get_traced_memory()[0]
        return {"rss": resident, "private": private, "data": data, **found}

    def counted(self) -> dict[str, int]:
        """What takes longer, or changes rarely: blocks of Python's heap, threads, descriptors, children."""
        pooled = _pooled()
        found = {
            "blocks": sys.getallocatedblocks(),  # it walks the heap: 90 µs with TensorFlow
            "threads": len(os.listdir("/proc/self/task")) - pooled,
            "descriptors": len(os.listdir("/proc/self/fd")) - 1,
        }
        try:
            with open(f"/proc/self/task/{os.getpid()}/children", "rb") as stream:
                found["children"] = len(stream.read().split())
        except OSError as failure:  # a kernel without that file
            self._let_pass(failure)
        if pooled:
            found["pooled"] = pooled
        return {**found, **self._status()}

    def _status(self) -> dict[str, int]:
        """Bytes of shared memory that is resident (`multiprocessing.shared_memory`, `mmap` without a file): statm counts it among
        the files. Reading it takes some 40 µs."""
        try:
            with open("/proc/self/status", "rb") as stream:
                found = next((line for line in stream if line.startswith(b"RssShmem")), None)
            return {} if found is None else {"shmem": int(found.split()[1]) * 1024}
        except (OSError, ValueError, IndexError) as failure:  # a kernel that does not say
            self._let_pass(failure)
            return {}

    def _let_pass(self, failure: Exception) -> None:
        """A TimeoutError is an OSError, too: one of the program's own goes on."""
        if self._is_theirs is not None and self._is_theirs(failure):
            raise failure

    def close(self) -> None:
        """Give the descriptor back."""
        if self._statm >= 0:
            os.close(self._statm)
            self._statm = -1


def _pooled() -> int:
    """Threads of `concurrent.futures` beyond the first of each pool: a pool grows to its size with its first tasks, and that is
    no pile-up; many pools are."""
    futures, threading = sys.modules.get("concurrent.futures.thread"), sys.modules.get("threading")
    workers = getattr(getattr(futures, "_threads_queues", None), "data", None)
    running = getattr(threading, "_active", None)
    if type(workers) is not dict or type(running) is not dict:
        return 0
    alive = {id(thread) for thread in list(running.values())}  # not by their numbers: those are given again
    pools = [id(queue) for thread, queue in list(workers.items()) if id(thread()) in alive]
    return len(pools) - len(set(pools))


def _high(low: int, lowest: int) -> int:
    import fcntl

    try:
        return fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, lowest)
    finally:
        os.close(low)


class Rising:
    """Whether a measurement rises steadily: the minima of four stretches of the last points, each above the one before by
    about as much. What levels off, or came in one jump, does not.

    Points are merged in pairs (the lower one stays) when there are many, so the stretches grow with the run. The first
    quarter is left out: programs take memory when they begin.
    """

    def __init__(self, least: int) -> None:
        self.least = least
        self.points: list[int] = []
        self.every = 1
        self._pending: list[int] = []

    def add(self, value: int) -> None:
        """One more measurement."""
        self._pending.append(value)
        if len(self._pending) < self.every:
            return
        self.points.append(min(self._pending))
        self._pending.clear()
        if len(self.points) >= MOST_POINTS:
            self.points = [min(self.points[at : at + 2]) for at in range(0, len(self.points), 2)]
            self.every *= 2

    def is_rising(self) -> bool:
        """Whether it does."""
        points = self.points[len(self.points) // 4 :]
        if len(points) < LEAST_POINTS:
            return False
        quarter = len(points) / 4
        lows = [min(points[int(part * quarter) : int((part + 1) * quarter)]) for part in range(4)]
        rises = [later - earlier for earlier, later in zip(lows, lows[1:])]  # noqa: B905, RUF007  # runs in older Pythons
        each = (lows[3] - lows[0]) / 3
        if 3 * each < max(self.least, LEAST_RISE_SHARE * lows[3]):
            return False
        return min(rises) >= EVEN * each and rises[-1] >= GOES_ON * each


def both_rising() -> list[Rising]:
    """For the process's private bytes, and for the blocks of Python's heap."""
    return [Rising(LEAST_RISE_BYTES), Rising(LEAST_RISE_BLOCKS)]
