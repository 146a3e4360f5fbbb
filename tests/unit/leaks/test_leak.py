"""Which growth is real, what it comes to, and which name holds it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crashcart.finding import Confidence
from crashcart.growth import After, Series, Site, Steps
from crashcart.leaks._holders import bound_of, holdings, is_cache, keras_part, line_of, main_holding, main_site
from crashcart.leaks._leak import grown_of, leak_of, memory_of
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


BOUNDED = kept("replay", kind="deque (maxlen 1000)", item="ndarray")


def test_a_buffer_that_fills_up_to_its_bound_is_no_leak_while_it_takes_most_of_the_growth() -> None:
    assert leak_of(growth(kept=(BOUNDED,))) is None
    bare = leak_of(growth(memory(3 * MIB), kept=(BOUNDED,)))
    assert bare is not None and bare.per_step == pytest.approx(2 * MIB, rel=0.02), "the buffer's part is none of it"


def test_a_named_leak_beside_a_buffer_that_fills_is_told_with_its_own_part() -> None:
    frames = kept("frames", 0.5 * MIB, item="ndarray", filled_at=frame(9, "frames.append(x)"))
    leak = leak_of(growth(memory(1.5 * MIB), kept=(BOUNDED, frames)))
    assert leak is not None and leak.confidence is Confidence.LIKELY
    assert leak.per_step == pytest.approx(0.5 * MIB, rel=0.05) and leak.beside_per_step == pytest.approx(MIB, rel=0.02)
    assert leak.steps_left(3 * GIB) == pytest.approx((3 * 1024 - 954) / 0.5, rel=0.05)
    assert leak_of(growth(memory(1.5 * MIB), kept=(BOUNDED,))) is None, "what comes along with a buffer has no name"
    small = replace(frames, sizes_bytes=tuple(each // 40 for each in frames.sizes_bytes))
    assert leak_of(growth(memory(1.02 * MIB), kept=(BOUNDED, small))) is None, "too little to speak of"


def test_an_object_on_the_way_to_a_buffer_is_no_holder_beside_it() -> None:
    agent = kept("agent", 0.5 * MIB, counts=lambda _: None, kind="Agent", item=None)
    buffer = replace(BOUNDED, name="agent.replay")
    assert leak_of(growth(memory(1.5 * MIB), kept=(buffer, agent))) is None


def test_a_named_leak_beside_an_array_that_is_filled_is_what_the_process_asks_for() -> None:
    data = replace(memory(0.2 * MIB, base=2 * GIB), name="data")
    frames = kept("frames", 0.2 * MIB, item="ndarray", filled_at=frame(9, "frames.append(x)"))
    leak = leak_of(growth(memory(), data, kept=(frames,)))
    assert leak is not None and leak.per_step == pytest.approx(0.2 * MIB, rel=0.05)


def test_a_container_shows_a_leak_in_jumps_beside_a_buffer_that_fills() -> None:
    steps = tuple(range(1, 241, 5))
    jumps = tuple(600 * MIB + (step > 20) * 250 * MIB + (step > 150) * 250 * MIB for step in steps)
    frames = kept("frames", item="ndarray", filled_at=frame(9, "frames.append(x)"))
    leak = leak_of(growth(Series("private", "bytes", steps, jumps), kept=(BOUNDED, frames)))
    assert leak is not None and leak.per_step == pytest.approx(MIB, rel=0.05)


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
    assert leak_of(replace(ended, after=After(8.0, 100 * MIB))) is None, "what rose then was not of these steps"


def test_a_jump_after_a_loop_shows_that_something_else_ran_however_short() -> None:
    """A list is loaded, stacked and gone through, all within a second and a half."""
    loaded = growth(steps=LOOP, kept=(kept(),), ended_s=1.5, after=After(0.5, 60 * MIB))
    assert grown_of(loaded) is not None and leak_of(loaded) is None
    assert leak_of(replace(loaded, after=After(0.5, 0))) is not None, "nothing shows that more ran than the end"
    assert leak_of(replace(loaded, after=After(0.1, 60 * MIB))) is not None, "the last steps that were not looked at"


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
