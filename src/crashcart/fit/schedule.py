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
    from crashcart.fit.walk import Begun, Walk

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
        self._running: list[tuple[float, int, int, Item, Begun]] = []
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
            if self._idle:
                self._wake()

    def _end_first(self) -> None:
        end_s, _, worker, (frame, index), begun = heapq.heappop(self._running)
        if end_s > self._now_s:
            self._now_s = end_s
        ready = self._walk.finish(frame, index, begun)
        if ready:
            self._schedule(worker, ready)
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
        begin, finish = self._walk.begin, self._walk.finish
        inline, offered = self._inline[worker], self._offered[worker]
        while True:
            if inline:
                item = inline.popleft()
            elif offered:
                item = offered.popleft()
            elif any(self._offered):
                item = next(each for each in self._offered if each).pop()
            else:
                self._idle.append(worker)
                return
            frame, index = item
            begun = begin(frame, index)
            if not frame.plan.cheap[index]:
                break
            ready = finish(frame, index, begun)
            if ready:
                self._schedule(worker, ready)
        seconds = begun[3]
        if seconds > IN_PIECES_S and self._running:
            seconds += self._random.uniform(0, MOST_WAIT) * max(0.0, self._running[0][0] - self._now_s)
        self._order += 1
        heapq.heappush(self._running, (self._now_s + seconds, self._order, worker, item, begun))
