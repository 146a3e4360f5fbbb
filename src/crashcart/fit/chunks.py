"""The allocator that TensorFlow uses on GPUs (best fit with coalescing), as arithmetic over addresses.

Covers: rounding, bins, splitting, merging of neighbours, growth by doubling regions; what is in use, and the most that
ever was. A chunk is not split when less than half of it would be left over, so that a tensor may hold up to twice its
own size: in a small convolution net that was measured to make a third of the peak.
Does not cover: a real limit, or the collection of garbage near it.
"""

from __future__ import annotations

from bisect import bisect_left, insort

ROUND_BYTES = 256
# TensorFlow's own constants: chunks are multiples of 256 bytes, regions begin at 2 MiB and double, and a chunk is always
# split when more than 128 MiB would be wasted.
FIRST_REGION_BYTES = 2 << 20
MOST_WASTE_BYTES = 128 << 20
# Two regions never touch: each address space of this size holds one.
_REGION_STRIDE = 1 << 50


class Chunks:
    """Chunks in use and free, by address. `used_bytes` counts whole chunks, as TensorFlow's own statistics do."""

    def __init__(self) -> None:
        self.used_bytes = 0
        self.peak_bytes = 0
        self._size: dict[int, int] = {}
        self._used: set[int] = set()
        self._free: list[tuple[int, int]] = []
        self._before: dict[int, int] = {}
        self._regions = 0
        self._next_region_bytes = FIRST_REGION_BYTES

    def allocate(self, requested_bytes: int) -> int:
        """The address of a chunk of at least that size."""
        rounded = max(ROUND_BYTES, -(-requested_bytes // ROUND_BYTES) * ROUND_BYTES)
        address = self._fit(rounded)
        if address is None:
            self._grow(rounded)
            address = self._fit(rounded)
        assert address is not None
        self._used.add(address)
        self.used_bytes += self._size[address]
        self.peak_bytes = max(self.peak_bytes, self.used_bytes)
        return address

    def free(self, address: int) -> None:
        """Give a chunk back; free neighbours become one."""
        self._used.discard(address)
        self.used_bytes -= self._size[address]
        after = address + self._size[address]
        if after in self._size and after not in self._used:
            self._take(after)
            self._join(address, after)
        before = self._before.get(address)
        if before is not None and before not in self._used:
            self._take(before)
            self._join(before, address)
            address = before
        self._offer(address)

    def held_bytes(self, address: int) -> int:
        """The size of the chunk."""
        return self._size[address]

    def _fit(self, rounded: int) -> int | None:
        """The smallest free chunk that is large enough, lowest address first; bins do not matter to that order, except that
        a bin is left as soon as one of its chunks fits, which the smallest does."""
        at = bisect_left(self._free, (rounded, -1))
        if at == len(self._free):
            return None
        size, address = self._free.pop(at)
        if size >= 2 * rounded or size - rounded >= MOST_WASTE_BYTES:
            self._split(address, rounded)
        return address

    def _split(self, address: int, rounded: int) -> None:
        rest, rest_bytes = address + rounded, self._size[address] - rounded
        after = address + self._size[address]
        self._size[address] = rounded
        self._size[rest] = rest_bytes
        self._before[rest] = address
        if after in self._size:
            self._before[after] = rest
        self._offer(rest)

    def _join(self, first: int, second: int) -> None:
        after = second + self._size[second]
        self._size[first] += self._size.pop(second)
        self._before.pop(second, None)
        if after in self._size:
            self._before[after] = first

    def _offer(self, address: int) -> None:
        insort(self._free, (self._size[address], address))

    def _take(self, address: int) -> None:
        self._free.pop(bisect_left(self._free, (self._size[address], address)))

    def _grow(self, rounded: int) -> None:
        grown = False
        while self._next_region_bytes < rounded:
            self._next_region_bytes *= 2
            grown = True
        self._regions += 1
        address = self._regions * _REGION_STRIDE
        self._size[address] = self._next_region_bytes
        self._offer(address)
        if not grown:
            self._next_region_bytes *= 2
