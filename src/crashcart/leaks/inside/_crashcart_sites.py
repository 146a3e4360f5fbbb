"""Where what survives was allocated: a short window in which every allocation of Python is followed.

Covers: opening the interpreter's own tracemalloc for some steps, comparing what is alive at two moments in it, and naming the
user's line that is nearest to each allocation. NumPy's arrays are among what it follows.
Does not cover: memory of native code (a tensor's Python object is seen, its buffer is not).

Following costs many times the price of what is followed (measured: a small tf.function call takes 8 times as long, a batch of
a small Keras model 18 times), so a window is opened only while memory rises and no name is known that holds it, and is
closed when it has cost its share. What the program itself follows is left alone.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself costs 5 ms
    from typing import Any

FRAMES = 16
"""TensorFlow puts some ten frames between the user's line and a tensor."""
PRECISE_FRAMES = 12
"""For the whole run: each frame costs with each allocation."""
MOST_SITES = 24
MOST_TABLE_BYTES = 32 << 20
"""Of the interpreter's table of allocations: some 50 bytes for each that is alive. A picture of 600 000 takes 0.8 s and 70 MB;
with more of them none is taken, and following ends."""
WARM_STEPS = 4
STEPS = 20
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


class Window:
    """One stretch in which allocations are followed."""

    def __init__(self, is_own: Any, precise: bool = False) -> None:
        self.is_own = is_own
        self.precise = precise
        self.is_open = False
        self.refused: str | None = None
        self.first: dict[tuple[str, int], tuple[int, int]] | None = None
        self.began: list[int] = []
        """The counts of steps when the first picture was taken."""
        self.cost_s = 0.0
        """What the pictures took."""
        self._tracing: Any = None
        self._taken_over = False
        self._seen: list[tuple[Any, Any]] = []

    def open(self) -> bool:
        """Begin to follow; False where that is not to be had."""
        import _tracemalloc

        if _tracemalloc.is_tracing():
            self.refused = "the program follows its allocations itself (tracemalloc)"
            return False
        _tracemalloc.start(PRECISE_FRAMES if self.precise else FRAMES)
        self._tracing, self._taken_over = _tracemalloc, False
        self.is_open, self.first = True, None
        self._see_starts()
        return True

    def _see_starts(self) -> None:
        """Learn of it if the program begins to follow its allocations itself: then it is not ours to end that. The module
        that programs import takes the function from the one below when it is loaded."""
        plain = self._tracing.start

        def start(*arguments: Any) -> None:
            self._taken_over = True
            plain(*arguments)

        self._seen = [(each, plain) for each in (self._tracing, sys.modules.get("tracemalloc")) if each is not None]
        for module, _ in self._seen:
            module.start = start

    def close(self) -> None:
        """Follow no longer. If the program has taken over in between, it is the program's now."""
        if self.is_open:
            self.is_open, self.first = False, None
            for module, plain in self._seen:
                module.start = plain
            if not self._taken_over:
                self._tracing.stop()

    def is_too_large(self) -> bool:
        """Whether so much is followed that a picture of it would be felt."""
        return self.is_open and bool(self._tracing.get_tracemalloc_memory() > MOST_TABLE_BYTES)

    def begin(self, counts: list[int]) -> None:
        """Take the first picture: what is alive here was made in the first steps, and most of it is passing through."""
        self.first, self.began = self._picture(), list(counts)

    def grown(self) -> list[list[Any]]:
        """By line, what there is more than in the first picture: file, line, count, bytes; the largest first."""
        if self.first is None or not self._tracing.is_tracing():
            return []
        found: list[list[Any]] = []
        for place, (count, size) in self._picture().items():
            count_before, size_before = self.first.get(place, (0, 0))
            if size > size_before:
                found.append([place[0], place[1], count - count_before, size - size_before])
        found.sort(key=lambda site: -int(site[3]))
        return found[:MOST_SITES]

    def _picture(self) -> dict[tuple[str, int], tuple[int, int]]:
        """Count and bytes of what is alive, by the user's line."""
        began_s = time.thread_time()
        by_trace: dict[int, tuple[Any, list[int]]] = {}
        for trace in self._tracing._get_traces():  # what is made in here is followed, too: as little as can be
            known = by_trace.get(id(trace[2]))  # equal tracebacks are one object in this list
            if known is None:
                by_trace[id(trace[2])] = (trace[2], [trace[1]])
            else:
                known[1].append(trace[1])
        found: dict[tuple[str, int], tuple[int, int]] = {}
        for frames, sizes in by_trace.values():
            place = next(
                ((file, line) for file, line in frames if self.is_own(file) or file.startswith(_PACKAGE)), None
            )
            if place is not None and not place[0].startswith(_PACKAGE):  # what our own looks made is not the program's
                before = found.get(place, (0, 0))
                found[place] = (before[0] + len(sizes), before[1] + sum(sizes))
        self.cost_s += time.thread_time() - began_s
        return found
