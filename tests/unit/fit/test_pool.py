"""The pool that TensorFlow has with oneDNN's kernels: what stays resident, and what does not lie in it."""

from __future__ import annotations

import pytest

from crashcart.fit.heap import PAGE_BYTES
from crashcart.fit.pool import POOLED_FROM_BYTES, Pool, PooledHeap

MIB = 1 << 20


def test_a_large_tensor_stays_resident_when_it_is_freed_and_its_place_is_used_again() -> None:
    heap = PooledHeap()
    for _ in range(3):
        heap.free(heap.allocate(10 * MIB))
    assert heap.used_bytes == 0
    assert heap.resident_bytes == heap.peak_bytes == 10 * MIB


def test_of_a_region_only_what_was_written_to_is_resident() -> None:
    heap = PooledHeap()
    heap.allocate(5 * MIB)  # in a region of 8 MiB
    assert heap.resident_bytes == 5 * MIB


def test_of_a_chunk_too_small_to_be_split_only_the_tensor_counts() -> None:
    heap = PooledHeap()
    heap.free(heap.allocate(8 * MIB))
    address = heap.allocate(5 * MIB)
    assert heap.held_bytes(address) == heap.used_bytes == 5 * MIB
    assert heap.resident_bytes == 8 * MIB


@pytest.mark.parametrize(("count_bytes", "pooled"), [(POOLED_FROM_BYTES, True), (POOLED_FROM_BYTES - 1, False)])
def test_small_tensors_lie_on_the_heap(count_bytes: int, pooled: bool) -> None:
    heap = PooledHeap()
    heap.free(heap.allocate(count_bytes))
    assert (heap.resident_bytes > 0) == pooled  # the heap's own block was mapped, and is gone


def test_what_others_ask_the_library_for_is_not_in_the_pool() -> None:
    heap = PooledHeap()
    heap.free(heap.outside(10 * MIB))
    assert heap.resident_bytes == 0
    assert heap.peak_bytes > 10 * MIB


def test_a_region_that_a_batch_has_split_does_not_fit_what_it_did() -> None:
    """Seen in TensorFlow's log of a prediction: the next batch comes before the last one goes."""
    heap = PooledHeap()
    first = heap.allocate(6 * MIB)
    heap.free(heap.allocate(28 * MIB))
    heap.allocate(6 * MIB)
    heap.free(first)
    heap.allocate(28 * MIB)
    assert heap.resident_bytes == (6 + 28 + 28) * MIB


def test_pages_that_touch_are_counted_once() -> None:
    pool = Pool()
    pool._write(10, 20)
    pool._write(30, 40)
    assert pool.resident_bytes == 20 * PAGE_BYTES
    pool._write(15, 35)
    pool._write(40, 41)
    pool._write(12, 13)
    assert pool.resident_bytes == 31 * PAGE_BYTES
