"""What is held during a step, written down as it goes.

Covers: the peak, what was held then, and the course of the step thinned out to a few hundred moments.
Does not cover: running the step (`walk.py`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable

from crashcart.fit.chunks import Chunks
from crashcart.fit.values import Buffer
from crashcart.step import HeldTensor, Moment

MOST_MOMENTS = 300


# Name, kind, bytes of the whole chunk (negative where it is freed), and whose it is.
_Entry = tuple[str, str, int, Buffer]


class Journal:
    """One step: what was held before, and each chunk that came and went since."""

    __slots__ = ("_before", "_entries", "_marks", "bytes", "operations", "peak_at")

    def __init__(self, live: Iterable[Buffer] = (), chunks: Chunks | None = None) -> None:
        self._before = [] if chunks is None else [_entry(each, chunks) for each in live]
        self.bytes = 0 if chunks is None else chunks.used_bytes
        self.peak_at = 0
        """How many entries there were when the most was held."""
        self._entries: list[_Entry] = []
        self.operations: list[str] = []
        self._marks: list[int] = []

    def mark(self, operation: str) -> None:
        """An operation begins."""
        self.operations.append(operation)
        self._marks.append(len(self._entries))

    def made(self, buffer: Buffer, chunks: Chunks) -> None:
        """Memory was taken."""
        entries = self._entries
        entries.append(_entry(buffer, chunks))
        if chunks.used_bytes > self.bytes:
            self.bytes = chunks.used_bytes
            self.peak_at = len(entries)

    def freed(self, buffer: Buffer, count_bytes: int) -> None:
        """Memory was given back."""
        self._entries.append((buffer.name, buffer.kind, -count_bytes, buffer))

    @property
    def node(self) -> str:
        """The operation that ran at the peak."""
        at = bisect_right(self._marks, self.peak_at - 1) - 1
        return self.operations[at] if at >= 0 else ""

    def held(self) -> list[HeldTensor]:
        """What was held at the peak, the largest first."""
        found = {id(each[3]): each for each in self._before}
        for each in self._entries[: self.peak_at]:
            if each[2] < 0:
                found.pop(id(each[3]), None)
            else:
                found[id(each[3])] = each
        tensors = [HeldTensor(name, kind, count) for name, kind, count, _ in found.values()]
        return sorted(tensors, key=lambda each: (-each.bytes, each.name))

    def moments(self, most: int = MOST_MOMENTS) -> tuple[Moment, ...]:
        """The course of the step: of each stretch the moment at which the most was held, so that the peak is among them."""
        chosen = self._chosen(most)
        held: Counter[str] = Counter()
        for each in self._before:
            held[each[1]] += each[2]
        found, done = [], 0
        for name, end in chosen:
            for each in self._entries[done:end]:
                held[each[1]] += each[2]
            done = end
            found.append(Moment(name, {kind: count for kind, count in held.items() if count > 0}))
        return tuple(found)

    def _chosen(self, most: int) -> list[tuple[str, int]]:
        """For each stretch the operation and the number of entries at which the most was held."""
        stretch = -(-len(self.operations) // most) if self.operations else 1
        found: list[tuple[str, int]] = []
        used = sum(each[2] for each in (*self._before, *self._entries[: self._marks[0] if self._marks else 0]))
        best = used
        for number, name in enumerate(self.operations):
            start = self._marks[number]
            end = self._marks[number + 1] if number + 1 < len(self._marks) else len(self._entries)
            if number % stretch == 0:
                found.append((name, start))
                best = used
            for at in range(start, end):
                used += self._entries[at][2]
                if used > best:
                    found[-1], best = (name, at + 1), used
        return found


def _entry(buffer: Buffer, chunks: Chunks) -> _Entry:
    count = 0 if buffer.address is None else chunks.held_bytes(buffer.address)
    return buffer.name, buffer.kind, count, buffer
