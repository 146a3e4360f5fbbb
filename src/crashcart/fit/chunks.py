"""The allocator that TensorFlow uses on GPUs (best fit with coalescing), as arithmetic over addresses.

Covers: rounding, bins, splitting, merging of neighbours, growth by doubling regions, a limit; what is in use, and the most
that ever was. A chunk is not split when less than half of it would be left over, so that a tensor may hold up to twice its
own size: in a small convolution net that was measured to make a third of the peak.
Does not cover: who waits when nothing is free (`walk.py`).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Any

ROUND_BYTES = 256
# TensorFlow's own constants: chunks are multiples of 256 bytes, regions begin at 2 MiB and double, and a chunk is always
# split when more than 128 MiB would be wasted.
FIRST_REGION_BYTES = 2 << 20
MOST_WASTE_BYTES = 128 << 20
# Two regions never touch: each address space of this size holds one.
_REGION_STRIDE = 1 << 50


class FullError(Exception):
    """Under the limit there is no chunk of the size that was asked for."""


class _Chunk:
    """A stretch of a region, in use or free, with its neighbours."""

    __slots__ = ("address", "after", "before", "bytes", "used")

    def __init__(self, address: int, count_bytes: int) -> None:
        self.address, self.bytes, self.used = address, count_bytes, False
        self.before: _Chunk | None = None
        self.after: _Chunk | None = None


class Chunks:
    """All chunks of a device. `used_bytes` counts whole chunks, as TensorFlow's own statistics do."""

    def __init__(self, limit_bytes: int | None = None) -> None:
        self.used_bytes = 0
        self.peak_bytes = 0
        self.pool_bytes = 0
        self._limit_bytes = limit_bytes
        self._free: list[tuple[Any, ...]] = []  # size, address, chunk
        self._used: dict[int, _Chunk] = {}
        self._regions = 0
        self._next_region_bytes = FIRST_REGION_BYTES

    def allocate(self, requested_bytes: int) -> int:
        """The address of a chunk of at least that size; FullError where the limit does not leave one.

        The smallest that is large enough, lowest address first. TensorFlow's bins do not change that order: a bin is left as
        soon as one of its chunks fits, which its smallest does.
        """
        rounded = max(ROUND_BYTES, -(-requested_bytes // ROUND_BYTES) * ROUND_BYTES)
        free = self._free
        at = bisect_left(free, (rounded,))
        if at == len(free):
            self._grow(rounded)
            at = bisect_left(free, (rounded,))
        size, _, chunk = free.pop(at)
        if size >= 2 * rounded or size - rounded >= MOST_WASTE_BYTES:
            self._split(chunk, rounded)
        chunk.used = True
        self.used_bytes += chunk.bytes
        if self.used_bytes > self.peak_bytes:
            self.peak_bytes = self.used_bytes
        address: int = chunk.address
        self._used[address] = chunk
        return address

    def outside(self, requested_bytes: int) -> int:
        """The same for somebody who does not ask TensorFlow; on a device there is nobody else."""
        return self.allocate(requested_bytes)

    def free(self, address: int) -> None:
        """Give a chunk back; free neighbours become one."""
        chunk = self._used.pop(address)
        self.used_bytes -= chunk.bytes
        chunk.used = False
        after = chunk.after
        if after is not None and not after.used:
            self._take(after)
            _join(chunk, after)
        before = chunk.before
        if before is not None and not before.used:
            self._take(before)
            _join(before, chunk)
            chunk = before
        insort(self._free, (chunk.bytes, chunk.address, chunk))

    def held_bytes(self, address: int) -> int:
        """The size of a chunk in use."""
        return self._used[address].bytes

    def _split(self, chunk: _Chunk, rounded: int) -> None:
        rest = _Chunk(chunk.address + rounded, chunk.bytes - rounded)
        rest.before, rest.after = chunk, chunk.after
        if rest.after is not None:
            rest.after.before = rest
        chunk.after = rest
        chunk.bytes = rounded
        insort(self._free, (rest.bytes, rest.address, rest))

    def _take(self, chunk: _Chunk) -> None:
        self._free.pop(bisect_left(self._free, (chunk.bytes, chunk.address)))

    def _grow(self, rounded: int) -> None:
        """One more region, at a lower address than those before, where the system puts it (read from TensorFlow's log)."""
        available = rounded
        if self._limit_bytes is not None:
            available = (self._limit_bytes - self.pool_bytes) // ROUND_BYTES * ROUND_BYTES
            if rounded > available:
                raise FullError
        grown = False
        while self._next_region_bytes < rounded:
            self._next_region_bytes *= 2
            grown = True
        count = self._next_region_bytes if self._limit_bytes is None else min(self._next_region_bytes, available)
        self._regions += 1
        self.pool_bytes += count
        address = -self._regions * _REGION_STRIDE
        insort(self._free, (count, address, _Chunk(address, count)))
        if not grown:
            self._next_region_bytes *= 2


def _join(first: _Chunk, second: _Chunk) -> None:
    first.bytes += second.bytes
    first.after = second.after
    if second.after is not None:
        second.after.before = first
