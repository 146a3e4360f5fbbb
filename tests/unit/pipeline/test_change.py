"""Changed pipelines are estimated like the real one, and only those are told that hold less."""

from __future__ import annotations

from crashcart.pipeline.change import cache_moved, changes, shuffle_moved, shuffle_smaller
from crashcart.pipeline.memory import memory_of
from crashcart.stages import AUTOTUNE, Ground, PipelineMemory, Stage
from tests.unit.pipeline.made import MB, batched, cached, mapped, over, pipeline, source

GROUND = Ground(2, 16_000 * MB)


def asked(root: Stage, there: int | None = 2_000 * MB) -> PipelineMemory:
    return memory_of(pipeline(root), GROUND, there, "container")


def decoded(count: int) -> Stage:
    return batched(over("shuffle", mapped(source(), MB, DecodeJpeg=1), buffer_size=count), 8)


def test_a_shuffle_before_decoding_holds_small_elements() -> None:
    memory = asked(decoded(5000))
    (found,) = shuffle_moved(memory)
    assert found.how.startswith("shuffle(5000) before decoding (200 B an element instead of")
    assert found.held_bytes < 100 * MB < 5_000 * MB < memory.held_bytes


def test_a_shuffle_of_batches_is_moved_with_as_many_examples() -> None:
    root = over("shuffle", batched(mapped(source(), MB, DecodeJpeg=1), 8), buffer_size=100)
    (found,) = shuffle_moved(asked(root))
    assert found.how.startswith("shuffle(800) before decoding")


def test_a_shuffle_of_small_elements_stays() -> None:
    assert list(shuffle_moved(asked(mapped(over("shuffle", source(), buffer_size=5000), MB, DecodeJpeg=1)))) == []


def test_the_smaller_shuffle_is_the_largest_round_one_that_fits_at_worst() -> None:
    memory = asked(decoded(5000))
    (found,) = shuffle_smaller(memory)
    assert found.how == "shuffle(1000)"
    assert memory.available_bytes is not None and found.high_bytes <= memory.available_bytes


def test_a_cache_is_not_moved_below_what_reads_files() -> None:
    read = mapped(source(count=3000), MB, ReadFile=1)
    assert list(cache_moved(asked(cached(read)))) == []
    (found,) = cache_moved(asked(cached(mapped(read, 4 * MB, DecodeJpeg=1))))
    assert "before decoding" in found.how


def test_changes_save_something_and_the_best_is_first() -> None:
    memory = asked(over("prefetch", decoded(5000), buffer_size=AUTOTUNE))
    found = changes(memory)
    assert found and all(each.held_bytes < memory.held_bytes for each in found)
    assert [each.held_bytes for each in found] == sorted(each.held_bytes for each in found)
    assert changes(asked(over("prefetch", batched(source(), 8), buffer_size=1))) == ()


def test_the_time_until_it_is_killed_comes_from_the_measured_rate() -> None:
    from dataclasses import replace

    rated = replace(mapped(source(), MB, 1, DecodeJpeg=1), rate_per_s=100.0)
    root = batched(over("shuffle", rated, buffer_size=5000), 8)
    killed, fitting = asked(root), asked(root, 64_000 * MB)
    assert killed.fits is False and fitting.fits is True
    assert killed.fill_s is not None and 15 < killed.fill_s < 20  # about 2000 of them fit
    assert fitting.fill_s == 50.0
    assert asked(decoded(5000)).fill_s is None  # no rate was measured
