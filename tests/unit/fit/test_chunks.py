"""The allocator's arithmetic, against what TensorFlow's own does."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashcart.fit.chunks import Chunks, FullError

MIB = 1 << 20


def test_sizes_are_rounded_to_256_bytes() -> None:
    chunks = Chunks()
    chunks.allocate(1)
    chunks.allocate(257)
    assert chunks.used_bytes == 256 + 512


def test_a_chunk_is_split_only_where_half_of_it_would_be_left() -> None:
    chunks = Chunks()
    chunks.allocate(MIB + MIB // 4)  # the first region has 2 MiB: less than half would be left, so all of it is taken
    assert chunks.used_bytes == 2 * MIB
    chunks.allocate(MIB)
    assert chunks.used_bytes == 3 * MIB


def test_free_neighbours_become_one_chunk() -> None:
    chunks = Chunks()
    first, second = chunks.allocate(MIB // 2), chunks.allocate(MIB // 2)
    chunks.allocate(MIB)
    chunks.free(first)
    chunks.free(second)
    before = chunks.used_bytes
    chunks.allocate(MIB)
    assert chunks.used_bytes == before + MIB


def test_the_weights_of_a_dense_layer_lie_as_tensorflow_lays_them() -> None:
    """Drawn, scaled, shifted: read from the log of TensorFlow 2.21 for layers of 784 x 1024 and 1024 x 1024."""
    chunks = Chunks()
    chunks.allocate(8)
    for count in (3_211_264, 4_194_304):
        drawn, scaled = chunks.allocate(count), chunks.allocate(count)
        chunks.allocate(count)
        chunks.free(drawn)
        chunks.free(scaled)
    assert chunks.used_bytes == 256 + 5_177_344 + 4_194_304


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 5 * MIB)), max_size=60))
def test_what_is_freed_is_free_and_nothing_overlaps(steps: list[tuple[bool, int]]) -> None:
    chunks, held = Chunks(), []
    for free, count in steps:
        if free and held:
            chunks.free(held.pop(count % len(held)))
        else:
            held.append(chunks.allocate(count))
        spans = sorted((each, each + chunks.held_bytes(each)) for each in held)
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
        assert chunks.used_bytes == sum(end - start for start, end in spans) <= chunks.peak_bytes
    for each in held:
        chunks.free(each)
    assert chunks.used_bytes == 0


def test_regions_grow_up_to_the_limit_and_no_further() -> None:
    chunks = Chunks(limit_bytes=5 * MIB)
    chunks.allocate(2 * MIB)
    chunks.allocate(3 * MIB)  # a region of 4 MiB would be next; 3 are left
    assert chunks.pool_bytes == 5 * MIB
    with pytest.raises(FullError):
        chunks.allocate(256)


def test_free_memory_in_two_regions_is_not_one_chunk() -> None:
    chunks = Chunks(limit_bytes=6 * MIB)
    held = [chunks.allocate(2 * MIB), chunks.allocate(4 * MIB)]
    for each in held:
        chunks.free(each)
    with pytest.raises(FullError):
        chunks.allocate(5 * MIB)
    chunks.allocate(4 * MIB)


def test_hundreds_of_gigabytes_are_counted() -> None:
    chunks = Chunks()
    held = [chunks.allocate(100 << 30) for _ in range(8)]
    assert chunks.used_bytes >= 800 << 30
    for each in held:
        chunks.free(each)
    assert chunks.used_bytes == 0
