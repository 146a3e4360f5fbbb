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
LEAST_BLOCK_BYTES = 32
# TensorFlow asks for tensors at multiples of 64 bytes, and the library takes so much more to find one.
ALIGNMENT_BYTES = 64
_BESIDES_BYTES = HEADER_BYTES + ALIGNMENT_BYTES + LEAST_BLOCK_BYTES
# A block is cut to its place out of one that is larger by that much, and so never fits where one of its size was before. The
# splinters on its sides keep free neighbours apart: a thread holds seven of a size back for itself (its cache), and only the
# others are joined. Later releases join them all (bug 30723 of the library).
PINS = 7
PINNED_FROM_BYTES = 16 << 10
# How often the thread that asked for a block asks for the next one too, within a step: of 0, 0.5 and 0.9 this came closest.
STAY = 0.9
# Two arenas never touch, and neither do two mapped blocks.
_STRIDE = 1 << 50


class Heap(Chunks):
    """Blocks in use and free. `used_bytes` counts the blocks in use; `peak_bytes` the most that was resident, slack included;
    `in_arenas_bytes` what of the most that was in use lay in arenas."""

    def __init__(self, arenas: int = 1, seed: int = 0, pins: int = PINS, stay: float = STAY) -> None:
        super().__init__()
        self.mapped_from_bytes = MAPPED_FROM_BYTES
        self.resident_bytes = 0
        self.most_used_bytes = 0
        self.in_arenas_bytes = 0
        self._mapped_bytes = 0
        self._arenas = [_Arena(_STRIDE * (number + 1), pins) for number in range(arenas + 2)]
        self._thread = 0
        self._of_reader = 0
        self._mapped: dict[int, int] = {}
        self._next_mapped = -_STRIDE
        self._random = Random(seed)
        self._stay = stay

    def fill(self) -> None:
        """Something else, which is counted elsewhere, fills what is free below the top of the main thread's arena."""
        self.resident_bytes -= self._arenas[0].free_bytes

    def begin(self) -> None:
        """From here on the most is counted anew."""
        self.peak_bytes, self.most_used_bytes = self.resident_bytes, self.used_bytes
        self.in_arenas_bytes = self.used_bytes - self._mapped_bytes

    def read(self, blocks: int) -> None:
        """A step begins: the next so many blocks are asked for by the thread that makes the batches. What was before the first
        step was asked for by the main thread."""
        self._of_reader = blocks
        self._thread = self._random.randrange(2, len(self._arenas))

    def allocate(self, requested_bytes: int) -> int:
        """The address of a block of at least that size."""
        wanted = requested_bytes + _BESIDES_BYTES
        arena = self._chosen()
        if wanted >= self.mapped_from_bytes:
            size = -(-wanted // PAGE_BYTES) * PAGE_BYTES
            address = self._next_mapped
            self._next_mapped -= _STRIDE
            self._mapped[address] = size
            self._mapped_bytes += size
            grown = size
        else:
            size = -(-(requested_bytes + HEADER_BYTES) // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
            before = arena.touched_bytes
            address = arena.allocate(size, wanted)
            grown = arena.touched_bytes - before
        self._taken(size, grown)
        return address

    outside = allocate
    """Whoever asks for it."""

    def _taken(self, size: int, grown: int) -> None:
        """A block of that size is in use, and so much more is resident."""
        self.resident_bytes += grown
        self.used_bytes += size
        if self.used_bytes > self.most_used_bytes:
            self.most_used_bytes = self.used_bytes
            self.in_arenas_bytes = self.used_bytes - self._mapped_bytes
        if self.resident_bytes > self.peak_bytes:
            self.peak_bytes = self.resident_bytes

    def _chosen(self) -> _Arena:
        """The arena of the thread that asks: which one runs the next operation is chance, but it mostly goes on itself."""
        if self._of_reader:
            self._of_reader -= 1
            return self._arenas[1]
        if self._thread and self._random.random() >= self._stay:
            self._thread = self._random.randrange(2, len(self._arenas))
        return self._arenas[self._thread]

    def free(self, address: int) -> None:
        """Give a block back. A mapped one leaves the process at once."""
        if address < 0:
            size = self._mapped.pop(address)
            self.used_bytes -= size
            self._mapped_bytes -= size
            self.resident_bytes -= size
            if self.mapped_from_bytes < size <= MOST_MAPPED_FROM_BYTES:
                self.mapped_from_bytes = size
            return
        arena = self._arenas[address // _STRIDE - 1]
        self.used_bytes -= arena.size[address]
        before = arena.touched_bytes
        arena.free(address, 2 * self.mapped_from_bytes)
        self.resident_bytes += arena.touched_bytes - before

    def held_bytes(self, address: int) -> int:
        """The size of the block."""
        return self._mapped[address] if address < 0 else self._arenas[address // _STRIDE - 1].size[address]


class _Arena:
    """Blocks side by side from one address on, and the free space above the last of them (the top)."""

    def __init__(self, base: int, pins: int) -> None:
        self.size: dict[int, int] = {}
        self.touched_bytes = 0
        self._pins = pins
        self._base = self._top = base
        self._last: int | None = None
        self._used: set[int] = set()
        self._free: list[tuple[int, int]] = []
        self._before: dict[int, int | None] = {}

    @property
    def free_bytes(self) -> int:
        """What is resident, and free."""
        return self.touched_bytes - sum(self.size[each] for each in self._used)

    def allocate(self, size: int, wanted: int) -> int:
        """A block in the smallest free one that has as much as is wanted, or else from the top; what is left over behind it is
        free, except for a splinter while the thread keeps such."""
        at = bisect_left(self._free, (wanted, -1))
        if at < len(self._free):
            held, address = self._free.pop(at)
        else:
            held, address = wanted, self._top
            self._before[address] = self._last
            self._last = address
            self._top += wanted
            self.touched_bytes = max(self.touched_bytes, self._top - self._base)
        self._used.add(address)
        if self._pins and size >= PINNED_FROM_BYTES:
            self.size[address] = held
            self._pin(address, size)
            return address
        # A free block has used ones, or the top, on both sides, so that the rest of it is free by itself, or the top's.
        self.size[address] = size
        rest = address + size
        if address == self._last:
            self._top = rest
        else:
            self.size[rest] = held - size
            self._before[rest] = address
            self._before[address + held] = rest
            insort(self._free, (held - size, rest))
        return address

    def _pin(self, address: int, size: int) -> None:
        """Cut a block to its size, and keep a splinter behind it from becoming one with what is free."""
        rest = self._cut(address, size)
        if rest is not None:
            self._pins -= 1
            self._used.add(rest)
            rest = self._cut(rest, ALIGNMENT_BYTES)
        if rest is not None:
            self.release(rest)

    def free(self, address: int, trim_from_bytes: int) -> None:
        """Give back a block; the top shrinks where it is large."""
        self._used.discard(address)
        self.release(address)
        if self.touched_bytes - (self._top - self._base) >= trim_from_bytes:
            self.touched_bytes = self._top - self._base + KEPT_ON_TOP_BYTES

    def release(self, address: int) -> None:
        """Free neighbours become one; what is free at the end joins the top."""
        size, used, free, before = self.size, self._used, self._free, self._before
        count = size[address]
        after = address + count
        if after in size and after not in used:
            behind = size.pop(after)
            free.pop(bisect_left(free, (behind, after)))
            del before[after]
            if after == self._last:
                self._last = address
            count += behind
        first = before[address]
        if first is not None and first not in used:
            held = size[first]
            free.pop(bisect_left(free, (held, first)))
            del size[address], before[address]
            if address == self._last:
                self._last = first
            count += held
            address = first
        if address == self._last:
            self._top = address
            self._last = before.pop(address)
            size.pop(address, None)
            return
        size[address] = count
        before[address + count] = address
        insort(free, (count, address))

    def _cut(self, address: int, size: int) -> int | None:
        """Keep so much of a block; returns where the rest begins, which is nobody's yet."""
        rest, rest_bytes = address + size, self.size[address] - size
        if rest_bytes <= 0:
            return None
        after = rest + rest_bytes
        self.size[address], self.size[rest] = size, rest_bytes
        self._before[rest] = address
        if after in self.size:
            self._before[after] = rest
        if self._last == address:
            self._last = rest
        return rest
