"""Which growth is real, what it comes to, and which name holds it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crashcart.finding import Confidence
from crashcart.growth import After, Series, Site, Steps
from crashcart.leaks._holders import bound_of, holdings, is_cache, keras_part, line_of, main_holding, main_site
from crashcart.leaks._leak import grown_of, is_bounded, leak_of, memory_of
from crashcart.units import GIB, KIB, MIB
from tests.unit.leaks.grown import frame, growth, kept, memory


def test_a_rise_of_the_process_is_a_leak_with_its_figures() -> None:
    leak = leak_of(growth())
    assert leak is not None and leak.confidence is Confidence.CERTAIN
    assert leak.per_step == pytest.approx(MIB, rel=0.02) and leak.low <= leak.per_step <= leak.high
    assert leak.level_bytes == 836 * MIB


def test_the_way_to_the_limit_is_counted_in_steps() -> None:
    leak = leak_of(growth())
    assert leak is not None
    assert leak.steps_left(3 * GIB) == pytest.approx(3 * 1024 - 836, rel=0.02)
    assert leak.steps_left(MIB) == 0
    assert leak.steps_left(None) is None


def test_what_stays_is_no_leak() -> None:
    assert leak_of(growth(memory(per_step=0))) is None


def test_slow_growth_is_no_leak_by_the_hour() -> None:
    fast, slow = Steps("loop", "passes", 240, 0.1), Steps("loop", "passes", 240, 600.0)
    assert leak_of(growth(memory(128 * KIB), steps=fast)) is not None
    assert leak_of(growth(memory(128 * KIB), steps=slow)) is None


def test_a_buffer_that_fills_up_to_its_bound_is_no_leak_while_it_takes_most_of_the_growth() -> None:
    bounded = kept("replay", kind="deque (maxlen 1000)", item="ndarray")
    assert is_bounded(growth(kept=(bounded,)), MIB)
    assert leak_of(growth(kept=(bounded,))) is None
    assert leak_of(growth(memory(3 * MIB), kept=(bounded,))) is not None


def test_the_resident_size_is_taken_where_there_is_no_better_series() -> None:
    rss = memory(name="rss")
    assert memory_of(growth(rss)) == rss
    assert memory_of(growth(rss, memory())) == memory()
    assert memory_of(growth(Series("variables", "count", (1,), (1,)))) is None


def test_a_container_that_grows_shows_a_leak_that_comes_in_jumps() -> None:
    """The allocator took memory twice: no even trend, but as much as the list came to hold."""
    steps = tuple(range(1, 241, 5))
    jumps = Series(
        "private",
        "bytes",
        steps,
        tuple(600 * MIB + (step > 20) * 130 * MIB + (step > 150) * 130 * MIB for step in steps),
    )
    assert leak_of(growth(jumps)) is None
    leak = leak_of(growth(jumps, kept=(kept(),)))
    assert leak is not None and leak.confidence is Confidence.LIKELY
    flat = replace(jumps, values=(600 * MIB,) * len(steps))
    assert leak_of(growth(flat, kept=(kept(),))) is None, "its elements are shared: the process did not grow"


def test_of_names_that_hold_the_same_the_innermost_with_elements_is_taken() -> None:
    outer = kept("trainer", counts=lambda _: None, chain=("main", "trainer"), kind="Trainer", item=None)
    inner = kept("trainer.losses", chain=("main", "trainer", "losses"))
    small = kept("names", each=KIB)
    assert next(each.kept.name for each in holdings(growth(kept=(outer, small, inner)))) == "trainer.losses"


def test_a_container_that_is_emptied_or_full_is_not_held_against_anybody() -> None:
    assert holdings(growth(kept=(kept(counts=lambda step: step % 60),))) == []
    assert holdings(growth(kept=(kept(counts=lambda step: min(step, 60)),))) == []


@pytest.mark.parametrize(
    ("changes", "keeps"),
    [
        ({}, "tensors"),
        ({"item": "ndarray"}, "arrays"),
        ({"item": "dict"}, "others"),
        ({"item": "Sequential"}, "built"),
        ({"name": "functools cache of embed", "kind": "lru_cache"}, "cache"),
        ({"name": "feature_cache", "kind": "dict"}, "cache"),
        ({"name": "closure of make_step: seen"}, "closure"),
        ({"chain": ("main", "metric: Collect (Metric)", "values")}, "keras"),
        ({"kind": "deque (maxlen 50000)"}, "bounded"),
        ({"item": None, "kind": "DataFrame", "counts": lambda _: None}, "arrays"),
    ],
)
def test_each_holding_belongs_to_one_rule(changes: dict[str, object], keeps: str) -> None:
    (holding,) = holdings(growth(kept=(kept(**changes),)))  # type: ignore[arg-type]
    assert holding.keeps == keeps


def test_a_bound_is_read_from_the_kind() -> None:
    assert bound_of(kept(kind="deque (maxlen 10000)")) == 10000
    assert bound_of(kept(kind="lru_cache (maxsize 128)")) == 128
    assert bound_of(kept(kind="deque")) is None


def test_a_cache_is_one_by_kind_or_by_name() -> None:
    assert is_cache(kept("self.memo", kind="dict")) and is_cache(kept("functools cache of f", kind="lru_cache"))
    assert not is_cache(kept("cache", kind="list")) and not is_cache(kept("history", kind="dict"))


def test_the_keras_object_is_the_innermost_of_the_chain() -> None:
    assert keras_part(kept(chain=("model: Net (Model)", "sum: Total (Layer)", "seen"))) == "Layer"
    assert keras_part(kept()) is None


def test_the_line_is_the_one_that_fills_else_one_that_names_the_container_else_the_heaviest() -> None:
    naming = Site(frame(7, "history += [make()]"), 20, 2 * MIB, 20)
    heavy = Site(frame(9, "x = make()"), 20, 20 * MIB, 20)
    unfilled = kept(filled_at=None)
    (holding,) = holdings(growth(kept=(kept(),)))
    assert line_of(holding, growth(sites=(heavy,))) == frame()
    (holding,) = holdings(growth(kept=(unfilled,)))
    assert line_of(holding, growth(sites=(heavy, naming))) == naming.frame
    assert line_of(holding, growth(sites=(heavy,))) == heavy.frame
    assert line_of(holding, growth()) is None
    assert main_site(growth(sites=(naming, heavy))) == heavy


def test_a_holder_that_is_said_to_hold_more_than_there_is_is_no_holder() -> None:
    views = kept("windows", 40 * MIB, item="ndarray view of a (5000, 1024) base")
    assert main_holding(growth(kept=(views,)), MIB) is None
    results = kept("results", 0.9 * MIB, filled_at=frame(9, "results.append(x)"))
    nearest = main_holding(growth(kept=(views, kept("shared", 1.45 * MIB), results)), MIB)
    assert nearest is not None and nearest.kept.name == "results"


LOOP = Steps("loop", "passes of the loop at train.py:5", 240, 0.05)


def test_a_loop_that_has_ended_is_no_leak_and_nothing_dies_of_it() -> None:
    ended = growth(steps=LOOP, kept=(kept(),), ended_s=20.0, after=After(8.0, 0))
    assert grown_of(ended) is not None and leak_of(ended) is None
    assert leak_of(replace(ended, after=After(1.5, 0))) is not None, "it ended with the program"
    assert leak_of(replace(ended, after=After(8.0, 100 * MIB))) is not None, "memory went on rising"


def test_training_that_was_followed_by_something_else_is_likely_at_most() -> None:
    ended = growth(ended_s=20.0, after=After(8.0, 0))
    leak = leak_of(ended)
    assert leak is not None and leak.confidence is Confidence.LIKELY
    certain = leak_of(growth(ended_s=20.0, after=After(1.0, 0)))
    assert certain is not None and certain.confidence is Confidence.CERTAIN


@pytest.mark.parametrize(("asked", "leaks"), [(0.0, False), (0.1, False), (1.0, True)])
def test_memory_that_was_asked_for_before_and_is_filled_is_no_leak(asked: float, leaks: bool) -> None:
    data = replace(memory(asked * MIB, base=2 * GIB), name="data")
    assert (leak_of(growth(memory(), data)) is not None) is leaks
    shared = replace(memory(base=0), name="shmem")
    assert leak_of(growth(memory(), data, shared)) is not None, "what is shared is not in what it asked for"


def _bent(name: str, base: int, each: float, bend: float) -> Series:
    """Each step brings a little less than the one before."""
    steps = tuple(range(1, 321, 4))
    return Series(name, "bytes", steps, tuple(round(base + each * step - bend * step * step) for step in steps))


def test_what_the_process_asks_for_shows_a_leak_that_its_pages_show_bent() -> None:
    held = _bent("private", 255 * MIB, 180 * KIB, 0.24 * KIB)
    assert leak_of(growth(held)) is None
    found = leak_of(growth(held, _bent("data", 443 * MIB, 108 * KIB, 0)))
    assert found is not None and found.confidence is Confidence.LIKELY
    assert found.per_step == pytest.approx(108 * KIB, rel=0.05)


def test_what_is_asked_for_and_not_touched_is_no_leak() -> None:
    flat = _bent("private", 255 * MIB, 0, 0)
    assert leak_of(growth(flat, _bent("data", 443 * MIB, 108 * KIB, 0))) is None


def test_pages_that_came_in_the_first_half_alone_are_no_leak() -> None:
    steps = tuple(range(1, 321, 4))
    filled = Series("private", "bytes", steps, tuple(255 * MIB + min(step, 160) * 200 * KIB for step in steps))
    assert leak_of(growth(filled, _bent("data", 443 * MIB, 108 * KIB, 0))) is None
