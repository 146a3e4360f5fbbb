"""Records of a watch over growth, read back: which step it is, series over it, names and lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import crashcart
from crashcart.blackbox.growth import growth_of, read_growth
from crashcart.blackbox.growth_places import Places
from crashcart.blackbox.growth_source import defined_at, filling_lines, function_at, parse
from crashcart.blackbox.growth_steps import choose
from crashcart.blackbox.inside import load
from crashcart.blackbox.ring import Ring
from crashcart.growth import After, Growth

Record = dict[str, Any]


def looks(*counts: tuple[int, ...], every_s: float = 1.0) -> list[Record]:
    return [{"kind": "leak-look", "at": place * every_s, "n": list(each)} for place, each in enumerate(counts)]


def steps_of(keys: list[list[Any]], records: list[Record]) -> tuple[str, int] | None:
    chosen = choose(keys, records)
    return None if chosen is None else (chosen.steps.name, chosen.steps.count)


BATCH, CALL, LOOP = ["keras batch", "batches", True], ["tf.function call", "calls", True], ["loop", "turns", True]
MARK, CELL = ["marked", "marks", True], ["cell", "cells", True]


def test_batches_come_before_calls_and_marks_before_all() -> None:
    records = looks(*((2 * n, 3 * n, n) for n in range(60)))
    assert steps_of([CALL, BATCH], records) == ("batches", 177)
    assert steps_of([CALL, BATCH, MARK], records) == ("marks", 59)


def test_what_was_only_called_at_the_beginning_is_no_step() -> None:
    assert steps_of([CALL, LOOP], looks(*((min(n, 30), n) for n in range(200)))) == ("turns", 199)


def test_a_kind_that_came_three_times_gives_way_to_one_that_came_often() -> None:
    assert steps_of([BATCH, LOOP], looks(*((n // 20, n) for n in range(80)))) == ("turns", 79)
    assert steps_of([CELL], looks(*((n,) for n in range(5)))) == ("cells", 4)


def test_the_users_own_function_comes_before_a_librarys() -> None:
    library = ["tf.function call", "of a library", False]
    assert steps_of([library, CALL], looks(*((5 * n, n) for n in range(60)))) == ("calls", 59)


def test_of_loops_the_outermost_that_turned_often_enough() -> None:
    inner, outer, outermost = ["loop", "inner", True], ["loop", "outer", True], ["loop", "epochs", True]
    assert steps_of([inner, outer, outermost], looks(*((9 * n, n, n // 30) for n in range(120)))) == ("outer", 119)


def test_nothing_counted_is_no_step() -> None:
    assert steps_of([], looks((), ())) is None
    assert steps_of([BATCH], looks((0,), (0,))) is None


@pytest.mark.parametrize(("stride", "count"), [(64, 59), (1, 59)])
def test_a_counter_that_moves_by_a_batch_at_a_time(stride: int, count: int) -> None:
    assert steps_of([LOOP], looks(*((stride * n,) for n in range(60)))) == ("turns", count)


def test_even_leaps_by_chance_are_no_stride() -> None:
    assert steps_of([LOOP], looks(*((2 * n,) for n in range(60)))) == ("turns", 118)


PROGRAM = """
history, cache, total = [], {}, ""

def train(step, frame, heap):
    history.append(step)
    cache[step] = 1
    cache.setdefault(step, []).append(2)
    total += "text"
    frame = concat([frame, step])
    frame = frame[-100:]
    heappush(heap, step)

@decorated
@tf.function
def call(self, x):
    self.seen["x"].append(x)
    self.best = max(self.best, x)
"""


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("history", [5]),
        ("cache", [6, 7]),
        ("total", [8]),
        ("frame", [9]),
        ("heap", [11]),
        ("layer.seen['x']", [16]),
        ("closure of train: history", [5]),
        ("model.best", []),
        ("unknown", []),
    ],
)
def test_the_lines_that_fill_a_name(name: str, lines: list[int]) -> None:
    tree = parse(PROGRAM)
    assert tree is not None
    assert filling_lines(tree, name) == lines


def test_lines_and_their_functions() -> None:
    tree = parse(PROGRAM)
    assert tree is not None
    assert (function_at(tree, 5), function_at(tree, 2)) == ("train", "<module>")
    assert (defined_at(tree, 13), defined_at(tree, 5)) == (15, 5)
    assert parse("def f(:") is None


def records(source: Path) -> list[Record]:
    found: list[Record] = [{"kind": "leak-start", "at": 0.0, "n": [], "pid": 7, "precise": False}]
    found.append({"kind": "leak-keys", "at": 0.1, "n": [0], "keys": [BATCH]})
    for step in range(1, 41):
        found.append({"kind": "leak-look", "at": step / 10, "n": [step], "rss": 1000 + step, "private": 500 + step})
        if step % 10 == 0:
            entry = ["history", "train.py", "list", step, 100 * step, "EagerTensor", str(source), 0, ["history"]]
            found.append({"kind": "leak-kept", "at": step / 10, "n": [step], "entries": [entry], "whole": True})
            fact = ["model", "Net", [str(source), 5, "train"], step // 10]
            found.append({"kind": "leak-made", "at": step / 10, "n": [step], "facts": [fact]})
    site = [str(source), 5, 20, 4000]
    found.append({"kind": "leak-sites", "at": 3.0, "n": [30], "window": 1, "began": [10], "sites": [site]})
    found.append({"kind": "leak-look", "at": 4.1, "n": [40], "private": 3, "models": 4, "last": True})
    found.append({"kind": "leak-end", "at": 4.2, "n": [40], "cost_s": 0.1, "forks": 0})
    return found


def test_records_become_growth(tmp_path: Path) -> None:
    source = tmp_path / "train.py"
    source.write_text(PROGRAM)
    growth = growth_of(records(source), Places(), 10**9)
    assert growth.steps is not None
    assert (growth.pid, growth.steps.count, growth.steps.kind) == (7, 40, "keras batch")
    private = growth.named("private")
    assert private is not None
    assert (private.steps[0], private.steps[-1], private.values[-1]) == (1, 40, 540)  # not what was left at the end
    models = growth.named("models")
    assert models is not None
    assert models.values == (4,)
    (kept,) = growth.kept
    assert (kept.steps, kept.counts, kept.item) == ((10, 20, 30, 40), (10, 20, 30, 40), "EagerTensor")
    assert kept.filled_at is not None
    assert (kept.filled_at.line, kept.filled_at.source, kept.filled_at.function) == (5, "history.append(step)", "train")
    (site,) = growth.sites
    assert (site.count, site.bytes, site.steps, site.frame.function) == (20, 4000, 20, "train")
    (made,) = growth.made
    assert (made.kind, made.first, made.last, made.steps) == ("model", 1, 4, 30)
    assert (growth.limit_bytes, growth.cost_s, dict(growth.lacking)) == (10**9, 0.1, {})


def test_a_recording_is_read_from_its_rings_and_a_torn_one_as_far_as_it_goes(tmp_path: Path) -> None:
    ring = Ring(str(tmp_path / "leaks-7.ring"), 1 << 20)
    for record in records(tmp_path / "gone.py"):
        ring.append(record)
    ring.close()
    growth = read_growth(tmp_path)
    assert growth is not None
    assert growth.steps is not None
    assert growth.kept[0].filled_at is None  # its source is not to be had
    content = bytearray((tmp_path / "leaks-7.ring").read_bytes())
    content[5000:5400] = bytes(400)
    (tmp_path / "leaks-7.ring").write_bytes(content)
    torn = read_growth(tmp_path)
    assert torn is not None
    assert torn.steps is not None
    (tmp_path / "leaks-7.ring").write_bytes(b"no ring")
    assert read_growth(tmp_path) is None


def test_a_recording_without_a_watch_has_none(tmp_path: Path) -> None:
    assert read_growth(tmp_path) is None


def test_forks_are_told(tmp_path: Path) -> None:
    end = {"kind": "leak-end", "at": 1.0, "n": [], "cost_s": 0.0, "forks": 4}
    start = {"kind": "leak-start", "at": 0.0, "n": [], "pid": 7}
    lacking = growth_of([start, end], Places(), None).lacking
    assert "4 times" in lacking["children"]
    assert "4 forked children" in lacking["steps"]
    assert lacking["series"] == "no look was taken"


def test_what_is_watched_is_said_again_when_the_ring_has_overwritten_it(tmp_path: Path) -> None:
    inside: Any = load(Path(crashcart.__file__).parent / "leaks" / "inside" / "_crashcart_leaks.py")
    watch = inside.Watch(inside.Paper(str(tmp_path)), False)
    for _ in range(3):
        watch.counts.step("marked", "steps")
    watch._introduce(0.0)
    watch.announce()
    filler = "x" * 100_000
    for number in range(100):
        watch.write("leak-kept", entries=[[filler, "", "", None, number, None, None, []]], whole=True)
    assert read_growth(tmp_path) is None
    watch.again_s = 0.0
    watch.look(False)
    watch.looks.close()
    growth = read_growth(tmp_path)
    assert growth is not None and growth.pid == watch.pid


def with_keys(keys: list[list[Any]], taken: list[Record]) -> list[Record]:
    start = {"kind": "leak-start", "at": 0.0, "n": [], "pid": 7, "unix_s": 1000.0}
    return [start, {"kind": "leak-keys", "at": 0.0, "n": [], "keys": keys, "places": {}}, *taken]


def test_what_was_seen_after_the_last_step_is_told_with_its_memory() -> None:
    taken = looks(*((number,) for number in range(1, 41)))
    for look in taken:
        look["private"] = 100 + look["n"][0]
    taken.append({"kind": "leak-look", "at": 49.0, "n": [40], "private": 900, "last": True})
    growth = growth_of(with_keys([MARK], taken), Places(), None)
    assert growth.after == After(10.0, 760) and growth.stepped_s == (0.0, 39.0) and growth.began_unix_s == 1000.0
    private = growth.named("private")
    assert private is not None and private.at_s[:2] == (0.0, 1.0)


def two_phases(first: list[Any], second: list[Any], lasted: int = 80) -> Growth:
    counts = [(number, 0) for number in range(1, 101)] + [(100, number) for number in range(1, lasted)]
    return growth_of(with_keys([first, second], looks(*counts, every_s=0.1)), Places(), None)


def test_a_loop_that_ended_before_other_steps_is_told_beside_them() -> None:
    """Loading data in a loop, then training: the training is the step, however short."""
    growth = two_phases(LOOP, BATCH, 30)
    assert growth.steps is not None and growth.earlier is not None and growth.earlier.steps is not None
    assert (growth.steps.kind, growth.steps.count, growth.earlier.steps.count) == ("keras batch", 29, 100)
    loops = two_phases(LOOP, ["loop", "others", True])
    assert loops.steps is not None and loops.steps.name == "others"
    short = two_phases(LOOP, ["loop", "others", True], 18)
    assert short.steps is not None and short.steps.name == "turns", "a loop that tells results is no training"


def test_training_stays_the_step_where_something_else_came_after_it() -> None:
    growth = two_phases(BATCH, LOOP)
    assert growth.steps is not None and growth.later is not None and growth.later.steps is not None
    assert (growth.steps.kind, growth.later.steps.name, growth.later.steps.count) == ("keras batch", "turns", 79)


def test_a_loop_that_turns_faster_than_steps_do_is_none() -> None:
    odd = looks(*((100_000 * number + number * number % 7,) for number in range(30)), every_s=0.1)
    none = growth_of(with_keys([LOOP], odd), Places(), None)
    assert none.steps is None and "30,000 times a second" in none.lacking["steps"]


def test_memory_that_is_shared_without_a_file_counts_as_the_processs_own() -> None:
    taken = looks(*((number,) for number in range(1, 21)))
    for number, look in enumerate(taken):
        look["private"] = 1000
        if number % 5 == 0:
            look["shmem"] = 100 * number
    private = growth_of(with_keys([MARK], taken), Places(), None).named("private")
    assert private is not None and (private.values[0], private.values[6], private.values[-1]) == (1000, 1500, 2500)


def test_live_tensors_are_series_of_their_own() -> None:
    taken = looks(*((number,) for number in range(1, 21)))
    counted = [{"kind": "leak-tensors", "at": at, "n": [int(at)], "count": at, "bytes": 10 * at} for at in (4, 9)]
    growth = growth_of(with_keys([MARK], [*taken, *counted]), Places(), None)
    tensors, sizes = growth.named("tensors"), growth.named("tensor_bytes")
    assert tensors is not None and sizes is not None
    assert (tensors.steps, tensors.values, tensors.unit) == ((4, 9), (4, 9), "count")
    assert (sizes.values, sizes.unit) == ((40, 90), "bytes")


def test_a_window_with_too_few_of_the_steps_names_no_line(tmp_path: Path) -> None:
    found = records(tmp_path / "gone.py")
    for record in found:
        if record["kind"] == "leak-sites":
            record["began"] = [28]
    assert growth_of(found, Places(), None).sites == ()


def test_every_process_that_was_watched_is_read_and_others_are_named(tmp_path: Path) -> None:
    for pid in (7, 8):
        ring = Ring(str(tmp_path / f"leaks-{pid}.ring"), 1 << 20)
        for record in records(tmp_path / "gone.py")[: 20 * pid]:
            ring.append(record)
        ring.close()
    (tmp_path / "program-7.json").write_text(json.dumps({"kind": "start", "pid": 7, "unix_s": 1.0}))
    alone = read_growth(tmp_path)
    assert alone is not None and [each.pid for each in alone.others] != [] and "processes" not in alone.lacking
    (tmp_path / "program-9.json").write_text(json.dumps({"kind": "start", "pid": 9, "unix_s": 1.0}))
    beside = read_growth(tmp_path)
    assert beside is not None and "pid 9" in beside.lacking["processes"]
    ring = Ring(str(tmp_path / "program-9.ring"), 1 << 16)
    ring.append({"kind": "exit", "pid": 9, "unix_s": 1.3})
    ring.close()
    short = read_growth(tmp_path)
    assert short is not None and "processes" not in short.lacking, "it only asked for a version, say"


def test_a_cache_that_was_filled_at_the_last_step_is_told_with_the_step_it_was_met_at(tmp_path: Path) -> None:
    def noted(at: float, step: int, *numbers: int) -> Record:
        facts = [[number, ["train.py", 3, "main"], 1000 * number] for number in numbers]
        return {"kind": "leak-caches", "at": at, "n": [step], "facts": facts}

    keys = [{"kind": "leak-keys", "at": 0.0, "n": [0], "keys": [BATCH], "places": {}}]
    records = [*keys, *looks(*((n,) for n in range(60)))]
    both = growth_of([*records, noted(0.5, 1, 7), noted(30.5, 31, 7, 9)], Places(tmp_path), None)
    assert [(each.bytes_each, each.since_step) for each in both.filling] == [(7000, 1), (9000, 31)]
    anew = growth_of([*records, noted(0.5, 1, 7), noted(30.5, 31, 9)], Places(tmp_path), None)
    assert [(each.bytes_each, each.since_step) for each in anew.filling] == [(9000, 31)]
    ended = growth_of([*records, noted(0.5, 1, 7), noted(70.0, 59)], Places(tmp_path), None)
    assert [each.bytes_each for each in ended.filling] == [7000]  # let go after the last step
    assert growth_of([*records, noted(0.5, 1, 7), noted(30.5, 31)], Places(tmp_path), None).filling == ()


def test_an_inner_loop_in_the_last_turn_of_the_outer_one_is_no_later_loop(tmp_path: Path) -> None:
    inner, outer = ["loop", "inner", True], ["loop", "outer", True]
    keys = [{"kind": "leak-keys", "at": 0.0, "n": [0, 0], "keys": [inner, outer], "places": {}}]
    turns = [(100 * n, n // 2) for n in range(1, 121)]
    assert growth_of([*keys, *looks(*turns, (12_100, 60), (12_150, 60))], Places(tmp_path), None).later is None
    went_on = [(12_000 + 100 * n, 60) for n in range(1, 30)]
    later = growth_of([*keys, *looks(*turns, *went_on)], Places(tmp_path), None)
    assert later.later is not None or (later.steps is not None and later.steps.name == "inner")
