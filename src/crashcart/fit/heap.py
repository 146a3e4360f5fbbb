"""The allocator of the GNU C library, as arithmetic over addresses: what a process holds resident for the tensors of a step.

Covers: large blocks, which are mapped and unmapped one by one; the size from which a block is large, which rises to that of each
such block that is freed, up to 32 MiB; the rest, which lies in arenas where freed blocks become one with free neighbours and
stay resident, until enough is free at an arena's end.
Does not cover: TensorFlow's own allocator for GPUs (`chunks.py`), other C libraries, small blocks that are cached by thread.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from random import Random

from crashcart.fit.chunks import Chunks

# The library's own constants on 64 bit machines (malloc/malloc.c, 2.26 and later).
MAPPED_FROM_BYTES = 128 << 10
MOST_MAPPED_FROM_BYTES = 32 << 20
PAGE_BYTES = 4096
KEPT_ON_TOP_BYTES = 128 << 10
HEADER_BYTES = 16
# TensorFlow asks for tensors at multiples of 64 bytes, and the library takes so much more to find one.
ALIGNMENT_BYTES = 64
# Two arenas never touch, and neither do two mapped blocks.
_STRIDE = 1 << 50


class Heap(Chunks):
    """Blocks in use and free. `used_bytes` counts the blocks in use; `peak_bytes` the most that was resident, slack included."""

    def __init__(self, arenas: int = 1, seed: int = 0) -> None:
        super().__init__()
        self.mapped_from_bytes = MAPPED_FROM_BYTES
        self.resident_bytes = 0
        self._arenas = [_Arena(_STRIDE * (number + 1)) for number in range(arenas)]
        self._mapped: dict[int, int] = {}
        self._next_mapped = -_STRIDE
        self._random = Random(seed)

    def allocate(self, requested_bytes: int) -> int:
        """The address of a block of at least that size."""
        wanted = requested_bytes + HEADER_BYTES + ALIGNMENT_BYTES
        if wanted >= self.mapped_from_bytes:
            size = -(-wanted // PAGE_BYTES) * PAGE_BYTES
            address = self._next_mapped
            self._next_mapped -= _STRIDE
            self._mapped[address] = size
            self.resident_bytes += size
        else:
            size = -(-(requested_bytes + HEADER_BYTES) // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
            arena = self._chosen()
            before = arena.touched_bytes
            address = arena.allocate(size)
            self.resident_bytes += arena.touched_bytes - before
        self.used_bytes += self.held_bytes(address)
        self.peak_bytes = max(self.peak_bytes, self.resident_bytes)
        return address

    def free(self, address: int) -> None:
        """Give a block back. A mapped one leaves the process at once."""
        size = self.held_bytes(address)
        self.used_bytes -= size
        if address < 0:
            del self._mapped[address]
            self.resident_bytes -= size
            if self.mapped_from_bytes < size <= MOST_MAPPED_FROM_BYTES:
                self.mapped_from_bytes = size
            return
        arena = self._arenas[address // _STRIDE - 1]
        before = arena.touched_bytes
        arena.free(address, 2 * self.mapped_from_bytes)
        self.resident_bytes += arena.touched_bytes - before

    def _chosen(self) -> _Arena:
        """Each thread has an arena of its own; which thread asks is chance."""
        return self._random.choice(self._arenas) if len(self._arenas) > 1 else self._arenas[0]

    def held_bytes(self, address: int) -> int:
        """The size of the block."""
        return self._mapped[address] if address < 0 else self._arenas[address // _STRIDE - 1].size[address]


class _Arena:
    """Blocks side by side from one address on, and the free space above the last of them (the top)."""

    def __init__(self, base: int) -> None:
        self.size: dict[int, int] = {}
        self.touched_bytes = 0
        self._base = self._top = base
        self._last: int | None = None
        self._used: set[int] = set()
        self._free: list[tuple[int, int]] = []
        self._before: dict[int, int | None] = {}

    def allocate(self, size: int) -> int:
        """The smallest free block that is large enough, or else from the top."""
        at = bisect_left(self._free, (size, -1))
        if at < len(self._free):
            found, address = self._free.pop(at)
            if found > size:
                self._split(address, size)
        else:
            address = self._top
            self.size[address] = size
            self._before[address] = self._last
            self._last = address
            self._top += size
            self.touched_bytes = max(self.touched_bytes, self._top - self._base)
        self._used.add(address)
        return address

    def free(self, address: int, trim_from_bytes: int) -> None:
        """Free neighbours become one; what is free at the end joins the top, which is given back where it is large."""
        self._used.discard(address)
        after = address + self.size[address]
        if after in self.size and after not in self._used:
            self._take(after)
            self._join(address, after)
        before = self._before[address]
        if before is not None and before not in self._used:
            self._take(before)
            self._join(before, address)
            address = before
        if address != self._last:
            insort(self._free, (self.size[address], address))
            return
        self._top = address
        self._last = self._before.pop(address)
        del self.size[address]
        if self.touched_bytes - (self._top - self._base) >= trim_from_bytes:
            self.touched_bytes = self._top - self._base + KEPT_ON_TOP_BYTES

    def _split(self, address: int, size: int) -> None:
        rest, rest_bytes = address + size, self.size[address] - size
        after = rest + rest_bytes
        self.size[address], self.size[rest] = size, rest_bytes
        self._before[rest] = address
        if after in self.size:
            self._before[after] = rest
        if self._last == address:
            self._last = rest
        insort(self._free, (rest_bytes, rest))

    def _join(self, first: int, second: int) -> None:
        after = second + self.size[second]
        self.size[first] += self.size.pop(second)
        del self._before[second]
        if after in self.size:
            self._before[after] = first
        if self._last == second:
            self._last = first

    def _take(self, address: int) -> None:
        self._free.pop(bisect_left(self._free, (self.size[address], address)))
