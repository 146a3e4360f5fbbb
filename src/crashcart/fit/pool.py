"""The memory of a process whose kernels are oneDNN's: TensorFlow keeps large tensors in a pool of its own there.

Covers: tensors of 256 KiB and more, which lie in regions that are never given back, as on a GPU (`chunks.py`); a page of a region
is resident from when it was first written to. Smaller ones, and what oneDNN itself takes, are on the library's heap (`heap.py`).
Does not cover: what oneDNN takes (`onednn.py`).
"""

from __future__ import annotations

from bisect import bisect_left

from crashcart.fit.chunks import Chunks
from crashcart.fit.heap import PAGE_BYTES, Heap

# TensorFlow's own constant (mkl_cpu_allocator.h). Its log of TensorFlow 2.21 says so too: a tensor of 262,143 bytes is not in the
# pool, and one of 262,144 is.
POOLED_FROM_BYTES = 256 << 10
# Addresses of the pool lie below all of the heap's.
_BELOW = 1 << 80


class Pool(Chunks):
    """Regions, and which of their pages were written to."""

    def __init__(self) -> None:
        super().__init__()
        self.resident_bytes = 0
        self._written: list[tuple[int, int]] = []
        """First page and the one behind the last, in order, apart from one another."""

    def allocate(self, requested_bytes: int) -> int:
        """A chunk that is written to from its beginning, as far as was asked for."""
        address = super().allocate(requested_bytes)
        self._write(address // PAGE_BYTES, -(-(address + requested_bytes) // PAGE_BYTES))
        return address

    def _write(self, first: int, end: int) -> None:
        """What was written before, and touches these pages, becomes one with them."""
        written = self._written
        begin = bisect_left(written, (first, first))
        if begin and written[begin - 1][1] >= first:
            begin -= 1
        behind, before = begin, 0
        low, high = first, end
        while behind < len(written) and written[behind][0] <= end:
            low, high = min(low, written[behind][0]), max(high, written[behind][1])
            before += written[behind][1] - written[behind][0]
            behind += 1
        written[begin:behind] = [(low, high)]
        self.resident_bytes += (high - low - before) * PAGE_BYTES


class PooledHeap(Heap):
    """Small blocks on the heap, large ones in the pool. Of these, `used_bytes` counts what was asked for."""

    def __init__(self, arenas: int = 1, seed: int = 0) -> None:
        super().__init__(arenas, seed)
        self._pool = Pool()
        self._asked: dict[int, int] = {}

    def allocate(self, requested_bytes: int) -> int:
        """The address of a block for a tensor."""
        if requested_bytes < POOLED_FROM_BYTES:
            return super().allocate(requested_bytes)
        self._chosen()
        before = self._pool.resident_bytes
        address = self._pool.allocate(requested_bytes)
        self._asked[address] = requested_bytes
        self._mapped_bytes += requested_bytes
        self._taken(requested_bytes, self._pool.resident_bytes - before)
        return address - _BELOW

    def free(self, address: int) -> None:
        """Give a block back; the pool keeps what it had."""
        if address > -_BELOW // 2:
            super().free(address)
            return
        self._pool.free(address + _BELOW)
        asked_bytes = self._asked.pop(address + _BELOW)
        self.used_bytes -= asked_bytes
        self._mapped_bytes -= asked_bytes

    def held_bytes(self, address: int) -> int:
        """What was asked for in the pool, or the size of the block."""
        return self._asked[address + _BELOW] if address <= -_BELOW // 2 else super().held_bytes(address)
