"""Looks are cheap, and only a steady rise is worth a closer one."""

from __future__ import annotations

import math
import mmap
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from crashcart.blackbox.inside import load

INSIDE = Path(__file__).resolve().parents[4] / "src" / "crashcart" / "leaks" / "inside"
looks: Any = load(INSIDE / "_crashcart_looks.py")
MIB = 1 << 20


def rising(values: list[int]) -> bool:
    series = looks.Rising(looks.LEAST_RISE_BYTES)
    for value in values:
        series.add(value)
    return bool(series.is_rising())


def test_a_steady_rise_rises() -> None:
    assert rising([100 * MIB + step * MIB // 4 for step in range(40)])


def test_a_long_steady_rise_rises_too() -> None:
    assert rising([100 * MIB + step * MIB // 16 for step in range(1000)])


@pytest.mark.parametrize(
    "values",
    [
        [100 * MIB] * 40,
        [100 * MIB + min(step, 8) * MIB for step in range(40)],  # warms up
        [100 * MIB + (step % 5) * 8 * MIB for step in range(60)],  # the collector's sawtooth
        [100 * MIB + int(20 * MIB * (1 - math.exp(-step / 3))) for step in range(100)],  # a cache that fills
        [100 * MIB + step * 100 for step in range(40)],  # not worth a word
        [100 * MIB + step * MIB for step in range(10)],  # too short
    ],
    ids=["flat", "warm-up", "sawtooth", "fills", "small", "short"],
)
def test_other_shapes_do_not(values: list[int]) -> None:
    assert not rising(values)


def test_memory_is_what_the_kernel_says() -> None:
    look = looks.Looks(700)
    resident, private, data = look.memory()
    with open("/proc/self/status") as stream:
        table = {line.split(":")[0]: line.split()[1] for line in stream if line.startswith(("VmRSS", "RssAnon"))}
    assert abs(resident - int(table["VmRSS"]) * 1024) < 8 * MIB
    assert abs(private - int(table["RssAnon"]) * 1024) < 8 * MIB
    assert data > private // 2
    look.close()


def test_a_program_that_closes_all_descriptors_is_looked_at_all_the_same() -> None:
    look = looks.Looks(700)
    first = look.memory()
    os.close(look._statm)
    assert look.memory()[0] > first[0] // 2
    look.close()


def test_blocks_threads_and_descriptors_are_counted() -> None:
    look = looks.Looks(700)
    before = look.counted()
    with open("/dev/null"):
        after = look.counted()
    assert after["descriptors"] == before["descriptors"] + 1
    assert after["threads"] >= 1
    assert after["blocks"] > 1000
    look.close()


def test_what_following_takes_is_not_the_programs() -> None:
    import tracemalloc

    look = looks.Looks(700)
    assert "python" not in look.cheap()
    tracemalloc.start()
    try:
        held = [bytes(100) for _ in range(20000)]
        assert look.cheap()["python"] > 100 * len(held)
        assert look.cheap()["private"] <= look.memory()[1] - tracemalloc.get_tracemalloc_memory() + MIB
    finally:
        tracemalloc.stop()
        look.close()


def test_what_is_reserved_and_what_is_touched_are_told_apart() -> None:
    look = looks.Looks(700)
    before = look.cheap()
    with mmap.mmap(-1, 64 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as reserved:
        made = look.cheap()
        assert made["data"] - before["data"] >= 60 * MIB and made["rss"] - before["rss"] < 30 * MIB
        reserved.write(bytes(64 * MIB))
        filled = look.cheap()
        assert filled["rss"] - made["rss"] >= 60 * MIB and filled["data"] - made["data"] < 4 * MIB
    look.close()


def test_shared_memory_is_seen() -> None:
    look = looks.Looks(700)
    before = look.counted()["shmem"]
    with mmap.mmap(-1, 32 * MIB) as shared:  # by default it is shared
        shared.write(bytes(32 * MIB))
        assert 30 * MIB <= look.counted()["shmem"] - before <= 40 * MIB


def test_the_threads_of_one_pool_are_no_pile_up_and_many_pools_are() -> None:
    look, done = looks.Looks(700), threading.Event()
    before = look.counted()["threads"]
    with ThreadPoolExecutor(40) as pool:
        for _ in range(40):
            pool.submit(done.wait, 20)
        counted = look.counted()
        assert counted["threads"] - before <= 1 and counted["pooled"] >= 39
        done.set()
    until = time.monotonic() + 10.0
    while look.counted()["threads"] > before + 1:  # the kernel takes a moment to let them go
        assert time.monotonic() < until
    pools = [ThreadPoolExecutor(2) for _ in range(20)]
    for each in pools:
        each.submit(int)
    assert look.counted()["threads"] - before >= 19
    for each in pools:
        each.shutdown()


FIRST_BATCHES = {
    0: 292.0, 2: 292.7, 4: 302.8, 5: 304.0, 8: 304.7, 9: 305.4, 12: 306.2, 21: 306.8, 31: 307.5, 33: 311.3, 48: 312.1, 69: 321.3,
    165: 321.9, 257: 322.6,
}  # fmt: skip
"""MiB of a small Keras `fit`, as measured, by the number of the look from which on it held so much."""


def test_the_first_batches_of_a_training_are_no_steady_rise() -> None:
    values: list[int] = []
    for number in range(282):
        values.append(int(MIB * FIRST_BATCHES[number]) if number in FIRST_BATCHES else values[-1])
    assert not any(rising(values[:count]) for count in range(10, len(values)))


def test_a_rise_that_is_small_beside_what_the_process_holds_is_none() -> None:
    assert rising([1000 * MIB + step * MIB // 4 for step in range(40)])
    assert not rising([4000 * MIB + step * MIB // 4 for step in range(40)])
