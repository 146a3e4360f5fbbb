"""What is held during a step, written down as it goes.

Covers: the peak, what was held then, and the course of the step thinned out to a few hundred moments.
Does not cover: running the step (`walk.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from crashcart.fit.chunks import Chunks
from crashcart.fit.values import Buffer
from crashcart.step import HeldTensor, Moment

MOST_MOMENTS = 300


# Name, kind, bytes of the whole chunk (negative where it is freed), and whose it is.
_Entry = tuple[str, str, int, Buffer]


class Journal:
    """One step: what was held before, and each chunk that came and went since."""

    __slots__ = ("_before", "bytes", "entries", "peak_at")

    def __init__(self, live: Iterable[Buffer] = (), chunks: Chunks | None = None) -> None:
        self._before = [] if chunks is None else [_entry(each, chunks) for each in live]
        self.bytes = 0 if chunks is None else chunks.used_bytes
        self.peak_at = 0
        """How many entries there were when the most was held."""
        self.entries: list[str | _Entry] = []
        """In one list, since a step writes tens of thousands: each operation that begins by its name, and between them what was
        made and freed."""

    def made(self, buffer: Buffer, count_bytes: int, used_bytes: int) -> None:
        """Memory was taken, so that this much is used."""
        self.entries.append((buffer.name, buffer.kind, count_bytes, buffer))
        if used_bytes > self.bytes:
            self.bytes = used_bytes
            self.peak_at = len(self.entries)

    def freed(self, buffer: Buffer, count_bytes: int) -> None:
        """Memory was given back."""
        self.entries.append((buffer.name, buffer.kind, -count_bytes, buffer))

    @property
    def operations(self) -> list[str]:
        """All of them, as they began."""
        return [each for each in self.entries if isinstance(each, str)]

    @property
    def node(self) -> str:
        """The operation that ran at the peak."""
        return next((each for each in reversed(self.entries[: self.peak_at]) if isinstance(each, str)), "")

    def held(self) -> list[HeldTensor]:
        """What was held at the peak, the largest first."""
        found = {id(each[3]): each for each in self._before}
        for each in chunks_in(self.entries[: self.peak_at]):
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
            for each in chunks_in(self.entries[done:end]):
                held[each[1]] += each[2]
            done = end
            found.append(Moment(name, {kind: count for kind, count in held.items() if count > 0}))
        return tuple(found)

    def _chosen(self, most: int) -> list[tuple[str, int]]:
        """For each stretch the operation and the number of entries at which the most was held."""
        stretch = max(1, -(-len(self.operations) // most))
        found: list[tuple[str, int]] = []
        name, number = "", 0
        used = best = sum(each[2] for each in self._before)
        for at, entry in enumerate(self.entries):
            if isinstance(entry, str):
                name = entry
                if number % stretch == 0:
                    found.append((name, at))
                    best = used
                number += 1
                continue
            used += entry[2]
            if found and used > best:
                found[-1], best = (name, at + 1), used
        return found


def chunks_in(entries: Iterable[str | _Entry]) -> Iterator[_Entry]:
    """What was made and freed, without the operations."""
    return (each for each in entries if not isinstance(each, str))


def _entry(buffer: Buffer, chunks: Chunks) -> _Entry:
    count = 0 if buffer.address is None else chunks.held_bytes(buffer.address)
    return buffer.name, buffer.kind, count, buffer
