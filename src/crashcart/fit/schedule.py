"""Which operation runs when: TensorFlow's executor with several workers, as a simulation in time.

Covers: what is cheap runs at once in the worker that made it ready; of what is not, a worker goes on with the last and
offers the others, which it takes back newest first and idle workers steal oldest first.
Does not cover: what an operation does (`walk.py`) or how long it takes (`kernels.py`).
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable

Start = Callable[[int], float]
Finish = Callable[[int], list[int]]


class Workers:
    """The workers of one step. `start` begins an operation and says how long it takes, `finish` says what is ready then."""

    def __init__(self, count: int, start: Start, finish: Finish, cheap: Callable[[int], bool]) -> None:
        self._start, self._finish, self._cheap = start, finish, cheap
        self._inline: list[deque[int]] = [deque() for _ in range(count)]
        self._offered: list[deque[int]] = [deque() for _ in range(count)]
        self._running: list[tuple[float, int, int, int]] = []
        self._idle = list(range(count))
        self._order = 0

    def run(self, roots: Iterable[int]) -> None:
        """From the operations that wait for nothing to the end."""
        self._idle.remove(0)
        self._schedule(0, roots)
        self._next(0, 0.0)
        while self._running:
            now_s, _, worker, index = heapq.heappop(self._running)
            self._schedule(worker, self._finish(index))
            self._next(worker, now_s)
            for other in list(self._idle):
                self._idle.remove(other)
                self._next(other, now_s)

    def _schedule(self, worker: int, ready: Iterable[int]) -> None:
        last = None
        for index in ready:
            if self._cheap(index):
                self._inline[worker].append(index)
                continue
            if last is not None:
                self._offered[worker].appendleft(last)
            last = index
        if last is not None:
            (self._offered[worker].appendleft if self._inline[worker] else self._inline[worker].append)(last)

    def _next(self, worker: int, now_s: float) -> None:
        index = self._choose(worker)
        if index is None:
            self._idle.append(worker)
            return
        self._order += 1
        heapq.heappush(self._running, (now_s + self._start(index), self._order, worker, index))

    def _choose(self, worker: int) -> int | None:
        if self._inline[worker]:
            return self._inline[worker].popleft()
        if self._offered[worker]:
            return self._offered[worker].popleft()
        for others in self._offered:
            if others:
                return others.pop()
        return None
