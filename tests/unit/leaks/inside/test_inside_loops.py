"""Iterations of the program's own loops, by the interpreter's monitoring or by the loops' own counters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crashcart.blackbox.inside import load

INSIDE = Path(__file__).resolve().parents[4] / "src" / "crashcart" / "leaks" / "inside"
loops: Any = load(INSIDE / "_crashcart_loops.py")
steps: Any = load(INSIDE / "_crashcart_steps.py")
roots: Any = load(INSIDE / "_crashcart_roots.py")
counted_by_reading = pytest.mark.skipif(sys.version_info >= (3, 12), reason="from 3.12 on, loops are monitored")


def names(source: str) -> list[tuple[str, ...]]:
    code = compile(source, "train.py", "exec")
    return [loop[3] for loop in loops.loops_of(code)]


@counted_by_reading
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("for i in range(9):\n    f(i)\n", [("i",)]),
        ("for i, batch in enumerate(data):\n    f(batch)\n", [("i",)]),
        ("step = 0\nwhile step < 9:\n    step += 1\n    f(step)\n", [("step",)]),
        ("step = 0\nfor batch in data:\n    step += 1\n    f(batch)\n", [("batch", "step")]),
        ("for epoch in range(3):\n    for i in range(9):\n        f(i)\n", [("epoch",), ("i",)]),
        ("while True:\n    f()\n", [()]),
        ("f()\n", []),
    ],
)
def test_the_names_that_count_a_loop(source: str, expected: list[tuple[str, ...]]) -> None:
    assert names(source) == expected


@counted_by_reading
def test_a_counter_is_followed_while_its_loop_runs() -> None:
    counts = steps.Counts(lambda: None)
    counters = loops.Counters(counts, lambda file: file == __file__, roots.variables)

    def look() -> None:
        counters.look(sys._getframe(1))

    def train() -> None:
        for _epoch in range(2):
            for i in range(10):
                if i % 3 == 0:
                    look()

    train()
    by_name = {name: count for (_, name, _), count in zip(counts.keys, counts.counts, strict=True)}
    assert sorted(by_name.values()) == [1, 19]  # 0→9, then begun anew: 1, then 9


@counted_by_reading
@pytest.mark.parametrize(
    ("header", "data"),
    [
        ("for i in range(9):", None),
        ("for i, x in enumerate(things):", None),
        ("for i in itertools.count():", None),
        ("for i in tqdm(range(9)):", None),
        ("for i in tqdm.tqdm(range(9)):", None),
        ("for i in range(\n    9,\n):", None),
        ("for i in random.sample(range(9), 3):", "i"),
        ("for i in sample(range(9), 3):", "i"),
        ("for i in tqdm(labels):", "i"),
        ("for (i, x), y in pairs:", None),
        ("for i in ids:", "i"),
        ("for i in self.ids:", "i"),
        ("for i in [3, 1, 2]:", "i"),
    ],
)
def test_numbers_that_a_loop_goes_over_may_be_data(header: str, data: str | None) -> None:
    ((*_, found),) = loops.loops_of(compile(f"before = range(3)\n{header}\n    f(i)\n", "x.py", "exec"))
    assert found == data


@counted_by_reading
def test_a_loop_over_data_is_counted_by_the_turns_that_were_seen() -> None:
    counts = steps.Counts(lambda: None)
    counters = loops.Counters(counts, lambda file: file == __file__, roots.variables)

    def look() -> None:
        counters.look(sys._getframe(1))

    def train() -> None:
        for user in [5, 900_000, 17, 40_000]:
            _ = [user * k for k in range(2)]  # before Python 3.12 that makes a cell of it
            look()

    train()
    ((_, name, _),) = counts.keys
    assert name.startswith("turns that were seen of the loop at") and counts.counts == [3]


@counted_by_reading
def test_outside_of_a_loop_nothing_counts() -> None:
    counts = steps.Counts(lambda: None)
    counters = loops.Counters(counts, lambda file: file == __file__, roots.variables)

    def look() -> None:
        counters.look(sys._getframe(1))

    def train() -> None:
        i = 0
        for i in range(5):  # noqa: B007
            pass
        look()
        i += 1
        look()

    train()
    assert sum(counts.counts) == 0


LOADED = """
import sys, time
from importlib.machinery import SourceFileLoader
def part(name):
    module = type(sys)(name)
    module.__file__ = {inside!r} + "/" + name + ".py"
    SourceFileLoader(name, module.__file__).exec_module(module)
    return module
steps, loops = part("_crashcart_steps"), part("_crashcart_loops")
counts = steps.Counts(lambda: None)
monitored = loops.Monitored(counts, lambda file: file == "own", time.monotonic)
"""
MONITORED = (
    LOADED
    + """
print(monitored.start())
code = compile('''
def train(n):
    for epoch in range(n):
        for _ in range(3): time.sleep(0.0005)
    k = 0
    while k < n:
        k += 1
        time.sleep(0.0005)
    total = 0
    for x in range(1000000):
        total += x
    return total
''', "own", "exec")
space = {{"time": time}}
exec(code, space)
print(space["train"](40))
print([(name, count) for (_, name, _), count in zip(counts.keys, counts.counts)])
monitored.stop()
print([sys.monitoring.get_tool(each) for each in loops.TOOLS])
"""
)


def python_with_monitoring() -> str | None:
    if sys.version_info >= (3, 12):
        return sys.executable
    found = sorted(Path.home().glob(".pyenv/versions/3.1[2-9]*/bin/python"))
    return str(found[-1]) if found else None


@pytest.mark.skipif(python_with_monitoring() is None, reason="no Python with sys.monitoring is here")
def test_monitored_loops_are_counted_exactly_and_hot_ones_are_left_alone() -> None:
    command = [str(python_with_monitoring()), "-I", "-c", MONITORED.format(inside=str(INSIDE))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    started, total, counted, tools = done.stdout.splitlines()
    assert (started, total, tools) == ("True", "499999500000", "[None, None]"), done.stderr
    counts = sorted(count for _, count in eval(counted))
    assert {39, 40, 40 * 3} <= set(counts), counted  # `while` turns back once less than it runs
    assert counts[-1] < 10_000, "a loop of a million turns was counted to its end"


MANY = (
    LOADED
    + """
monitored.start()
short = "".join(f"    for a in range(2): time.sleep(0.0001)\\n" for _ in range({short}))
slow = "".join(f"    for a in range(20): time.sleep(0.0001)\\n" for _ in range({slow}))
last = "    for step in range(100): time.sleep(0.0005)\\n"
space = {{"time": time}}
exec(compile("def train():\\n" + short + slow + last, "own", "exec"), space)
space["train"]()
print(counts.counts[-1], len(counts.keys), len(monitored.loops))
print(counts.refused)
"""
)


def many_loops(short: int, slow: int) -> list[str]:
    source = MANY.format(inside=str(INSIDE), short=short, slow=slow)
    command = [str(python_with_monitoring()), "-I", "-c", source]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(python_with_monitoring() is None, reason="no Python with sys.monitoring is here")
@pytest.mark.parametrize("short", [10, 40, 1500])
def test_a_loop_after_many_that_turn_twice_is_counted_exactly(short: int) -> None:
    counted, refused = many_loops(short, 0)
    last, keys, known = map(int, counted.split())
    assert last == 100 and refused == "None"
    assert keys <= loops.AT_ONCE + 1 and known <= loops.MOST_KNOWN


@pytest.mark.skipif(python_with_monitoring() is None, reason="no Python with sys.monitoring is here")
def test_a_loop_that_finds_no_place_is_told() -> None:
    counted, refused = many_loops(0, 200)
    assert int(counted.split()[1]) == steps.MOST_LOOPS
    assert refused.startswith("192 kinds of steps are counted already") and "own:202" in refused


def test_loops_leave_room_for_the_steps_of_frameworks() -> None:
    counts = steps.Counts(lambda: None)
    for number in range(steps.MOST_LOOPS + 1):
        counts.index("loop", f"loop {number}")
    assert counts.refused is not None
    assert counts.index("keras batch", "batches of model.fit") >= 0
