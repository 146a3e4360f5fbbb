"""Which operation runs when: TensorFlow's executor with several workers, as a simulation in time.

Covers: what is cheap runs at once in the worker that made it ready; of what is not, a worker goes on with the last and
offers the others, which it takes back newest first and idle workers steal oldest first. Two kernels share the threads that
compute: the shorter one waits for pieces of the longer one.
Does not cover: what an operation does (`walk.py`) or how long it takes alone (`kernels.py`).
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crashcart.fit.frame import Frame
    from crashcart.fit.walk import Walk

Item = tuple["Frame", int]
"""An operation of one run of a graph."""

# A kernel is cut into pieces for several threads when it takes longer than this (Eigen: 100 000 cycles).
IN_PIECES_S = 4e-5
# Pieces of a short kernel stand behind those of a long one that runs beside it. In the log of a step with two large products,
# operations of half a millisecond each took 1/10 to 1/5 of what was left of the product that they ran beside.
MOST_WAIT = 0.3


class Workers:
    """The workers of one step, all idle at first."""

    def __init__(self, count: int, walk: Walk, random: Random) -> None:
        self._walk, self._random = walk, random
        self._inline: list[deque[Item]] = [deque() for _ in range(count)]
        self._offered: list[deque[Item]] = [deque() for _ in range(count)]
        self._running: list[tuple[float, int, int, Item]] = []
        self._idle = list(range(count))
        self._order = 0
        self._now_s = 0.0

    def run(self, roots: Sequence[Item]) -> None:
        """From the operations that wait for nothing to the end; one worker begins with all of them."""
        worker = self._idle.pop(0)
        self._schedule(worker, roots)
        self._go_on(worker)
        self._to_the_end()

    def arrive(self, items: Sequence[Item]) -> None:
        """Operations that somebody outside made ready, each offered on its own, and on to the end."""
        for item in items:
            self._random.choice(self._offered).append(item)
        self._to_the_end()

    def wait(self) -> bool:
        """Let the operation that ends first end, and its worker go on; False where none runs."""
        if not self._running:
            return False
        self._end_first()
        self._wake()
        return True

    def _to_the_end(self) -> None:
        self._wake()
        while self._running:
            self._end_first()
            self._wake()

    def _end_first(self) -> None:
        end_s, _, worker, (frame, index) = heapq.heappop(self._running)
        self._now_s = max(self._now_s, end_s)
        self._schedule(worker, self._walk.finish(frame, index))
        self._go_on(worker)

    def _wake(self) -> None:
        for _ in range(len(self._idle)):
            if not any(self._offered):
                return
            self._go_on(self._idle.pop(0))

    def _schedule(self, worker: int, ready: Sequence[Item]) -> None:
        last = None
        inline, offered = self._inline[worker], self._offered[worker]
        for item in ready:
            if item[0].plan.cheap[item[1]]:
                inline.append(item)
                continue
            if last is not None:
                offered.appendleft(last)
            last = item
        if last is not None:
            if inline:
                offered.appendleft(last)
            else:
                inline.append(last)

    def _go_on(self, worker: int) -> None:
        """Take the next operation; what is cheap takes no time."""
        while True:
            item = self._choose(worker)
            if item is None:
                self._idle.append(worker)
                return
            frame, index = item
            seconds = self._walk.begin(frame, index)
            if not frame.plan.cheap[index]:
                break
            self._schedule(worker, self._walk.finish(frame, index))
        if seconds > IN_PIECES_S and self._running:
            seconds += self._random.uniform(0, MOST_WAIT) * max(0.0, self._running[0][0] - self._now_s)
        self._order += 1
        heapq.heappush(self._running, (self._now_s + seconds, self._order, worker, item))

    def _choose(self, worker: int) -> Item | None:
        if self._inline[worker]:
            return self._inline[worker].popleft()
        if self._offered[worker]:
            return self._offered[worker].popleft()
        for others in self._offered:
            if others:
                return others.pop()
        return None
