"""The C library's allocator as arithmetic, against what its own rules say."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from crashcart.fit.heap import MOST_MAPPED_FROM_BYTES, PAGE_BYTES, Heap

MIB = 1 << 20


def test_a_large_block_is_mapped_and_leaves_the_process_when_it_is_freed() -> None:
    heap = Heap()
    block = heap.allocate(64 * MIB)
    assert 64 * MIB < heap.resident_bytes <= 64 * MIB + 2 * PAGE_BYTES
    heap.free(block)
    assert heap.resident_bytes == 0


def test_a_small_block_below_another_stays_resident_when_it_is_freed() -> None:
    heap = Heap()
    low, _ = heap.allocate(100_000), heap.allocate(1000)
    before = heap.resident_bytes
    heap.free(low)
    assert heap.resident_bytes == before
    assert heap.used_bytes < 2000


def test_what_is_free_is_used_again_for_what_is_smaller() -> None:
    heap = Heap()
    low, _ = heap.allocate(100_000), heap.allocate(1000)
    heap.free(low)
    before = heap.resident_bytes
    first, second = heap.allocate(50_000), heap.allocate(40_000)
    assert heap.resident_bytes == before
    assert first != second


def test_a_block_does_not_fit_where_one_of_its_size_was() -> None:
    """Read from a real run: each batch of 6.4 MB came to lie behind the freed one before it."""
    heap = Heap()
    low, _ = heap.allocate(100_000), heap.allocate(1000)
    heap.free(low)
    before = heap.resident_bytes
    heap.allocate(100_000)
    assert heap.resident_bytes >= before + 100_000


def test_splinters_keep_free_neighbours_apart_until_a_thread_has_enough_of_them() -> None:
    kept, joined = Heap(pins=7), Heap(pins=0)
    for heap in (kept, joined):
        low, high, _ = heap.allocate(50_000), heap.allocate(50_000), heap.allocate(1000)
        heap.free(low)
        heap.free(high)
    before = kept.resident_bytes
    kept.allocate(90_000)
    assert kept.resident_bytes > before + 80_000
    before = joined.resident_bytes
    joined.allocate(90_000)
    assert joined.resident_bytes == before


def test_what_is_free_in_the_main_arena_is_filled_and_what_is_used_stays() -> None:
    heap = Heap()
    low, high = heap.allocate(50_000), heap.allocate(60_000)
    heap.free(low)
    heap.fill()
    assert heap.held_bytes(high) <= heap.resident_bytes < heap.held_bytes(high) + 1000


def test_batches_have_an_arena_of_their_own() -> None:
    heap = Heap(arenas=1)
    heap.read(1)
    batch = heap.allocate(50_000)
    other = heap.allocate(50_000)
    assert abs(batch - other) > 1 << 40


def test_freeing_a_mapped_block_makes_blocks_of_its_size_stay() -> None:
    heap = Heap()
    heap.free(heap.allocate(4 * MIB))
    assert heap.mapped_from_bytes > 4 * MIB
    first, last = heap.allocate(4 * MIB), heap.allocate(MIB)
    heap.free(first)
    assert heap.resident_bytes > 5 * MIB
    heap.free(last)


def test_but_not_beyond_32_mib() -> None:
    heap = Heap()
    heap.free(heap.allocate(MOST_MAPPED_FROM_BYTES))
    heap.free(heap.allocate(40 * MIB))
    assert heap.mapped_from_bytes < MIB


def test_a_large_free_end_is_given_back_and_a_small_one_is_kept() -> None:
    heap = Heap(pins=0)
    heap.free(heap.allocate(MIB))
    many = [heap.allocate(MIB) for _ in range(8)]
    full = heap.resident_bytes
    heap.free(many.pop())
    assert heap.resident_bytes == full
    for each in reversed(many):
        heap.free(each)
    assert heap.resident_bytes < 3 * MIB
    assert heap.peak_bytes == full


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3), st.lists(st.tuples(st.booleans(), st.integers(1, 5 * MIB)), max_size=60))
def test_what_is_freed_is_free_and_nothing_overlaps(arenas: int, steps: list[tuple[bool, int]]) -> None:
    heap, held = Heap(arenas), []
    for free, count in steps:
        if free and held:
            heap.free(held.pop(count % len(held)))
        else:
            held.append(heap.allocate(count))
        spans = sorted((each, each + heap.held_bytes(each)) for each in held)
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
        assert heap.used_bytes == sum(end - start for start, end in spans)
        assert heap.used_bytes <= heap.resident_bytes <= heap.peak_bytes
    for each in held:
        heap.free(each)
    assert heap.used_bytes == 0
