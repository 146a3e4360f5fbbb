"""Names that hold things are found, whatever leads to them, and nothing is kept alive by looking."""

from __future__ import annotations

import gc
import queue
import sys
import weakref
from collections import deque
from functools import lru_cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from crashcart.blackbox.inside import load

INSIDE = Path(__file__).resolve().parents[4] / "src" / "crashcart" / "leaks" / "inside"
kept: Any = load(INSIDE / "_crashcart_kept.py")
roots: Any = load(INSIDE / "_crashcart_roots.py")
bounds: Any = load(INSIDE / "_crashcart_bounded.py").Bounded(load(INSIDE / "_crashcart_sizes.py"))
HERE = __file__


def own(file: str) -> bool:
    return file == HERE


history: list[np.ndarray] = []
by_name: dict[str, list[int]] = {"loss": [], "accuracy": []}


class Trainer:
    best: list[bytes] = []  # noqa: RUF012

    def __init__(self) -> None:
        self.losses: list[bytes] = []


trainer = Trainer()


class Slotted:
    __slots__ = ("kept",)


slotted = Slotted()


@lru_cache(maxsize=None)  # noqa: UP033
def embed(key: int) -> bytes:
    return bytes(2000 + key)


@lru_cache(maxsize=64)
def bounded(key: int) -> bytes:
    return bytes(2000 + key)


def make() -> Any:
    seen: dict[int, bytes] = {}

    def visit(key: int) -> None:
        seen[key] = bytes(1000)

    return visit


visit = make()


def collect(item: int, into: list[int] = []) -> None:  # noqa: B006
    into.append(item)


def here() -> Any:
    """The caller's frame; a function that has the word for that in it would be left alone."""
    return sys._getframe(1)


def look(frames: list[Any] | None = None) -> dict[str, list[Any]]:
    entries, whole = kept.look(roots.Roots(own), bounds, frames or [], 5.0)
    assert whole
    return {entry[0]: entry for entry in entries}


def test_globals_attributes_closures_defaults_classes_and_caches_are_found() -> None:
    slotted.kept = [bytes(100)] * 10  # type: ignore[attr-defined]
    for number in range(50):
        history.append(np.zeros(100))
        by_name["loss"].append(number)
        trainer.losses.append(bytes(100))
        Trainer.best.append(bytes(100))
        embed(number)
        bounded(number)
        visit(number)
        collect(number)
    found = look()
    for name in ("history", "by_name['loss']", "trainer.losses", "Trainer.best", "functools cache of embed",
                 "closure of visit: seen", "default of collect: into"):  # fmt: skip
        assert found[name][3] == 50, name
    assert found["slotted.kept"][3] == 10
    assert 50 * 800 <= found["history"][4] <= 50 * 1100
    assert found["history"][5] == "ndarray"
    assert found["trainer.losses"][1] == "class Trainer"
    assert found["trainer.losses"][8] == ["Trainer", "trainer.losses"]
    assert found["functools cache of embed"][2] == "lru_cache"
    assert found["functools cache of bounded"][2] == "lru_cache (maxsize 64)"
    assert found["functools cache of embed"][4] >= 50 * 2000


def run() -> tuple[dict[str, list[Any]], bool]:
    # No assertion in here: pytest's own have the word `locals` in them.
    buffer: deque[bytes] = deque(maxlen=20)
    buffer.extend(bytes(3000) for _ in range(20))
    local = Trainer()
    local.losses = [bytes(10)] * 9
    found = look([here()])
    reference = weakref.ref(local)
    del local
    return found, reference() is None


def test_variables_of_functions_that_run_are_found_and_not_kept() -> None:
    found, gone = run()
    assert found["buffer"][1:4] == ["test_inside_kept.py, run", "deque (maxlen 20)", 20]
    assert found["local.losses"][3] == 9
    assert gone, "the look kept a variable alive"


def with_locals() -> tuple[dict[str, list[Any]], dict[str, Any]]:
    mine = [1] * 50
    snapshot = locals()
    return look([here()]), snapshot


def test_a_function_that_has_a_snapshot_of_its_variables_in_use_is_left_alone() -> None:
    found, snapshot = with_locals()
    assert "mine" not in found or sys.version_info >= (3, 13)
    assert snapshot["mine"] == [1] * 50


def test_nothing_is_kept_alive() -> None:
    thing = Trainer()
    history.append(thing)  # type: ignore[arg-type]
    look()
    history.pop()
    reference = weakref.ref(thing)
    del thing
    assert reference() is None


def views_of_large_arrays() -> dict[str, list[Any]]:
    views = [np.zeros((100, 100))[:1] for _ in range(10)]
    found = look([here()])
    views.clear()
    return found


def test_a_view_counts_as_the_base_that_it_keeps() -> None:
    entry = views_of_large_arrays()["views"]
    assert entry[5] == "ndarray view of a (100, 100) base"
    assert entry[4] >= 10 * 80_000


calls: list[str] = []


class Loud(list):  # type: ignore[type-arg]
    def __len__(self) -> int:
        calls.append("len")
        return 0

    def __iter__(self) -> Any:
        calls.append("iter")
        return iter(())

    def __getattribute__(self, name: str) -> Any:
        calls.append(name)
        return super().__getattribute__(name)


class Dark:
    def __getattr__(self, name: str) -> Any:
        calls.append(name)
        raise AttributeError(name)

    def __eq__(self, other: object) -> bool:
        calls.append("eq")
        return False

    __hash__ = None  # type: ignore[assignment]


def look_at_odd_objects() -> dict[str, list[Any]]:
    loud, dark = Loud(range(100)), Dark()
    dark.items = [dark] * 100  # type: ignore[attr-defined]
    calls.clear()
    found = look([here()])
    found["calls"] = list(calls)
    list.clear(loud)
    return found


def test_no_code_of_the_program_runs() -> None:
    found = look_at_odd_objects()
    assert found["loud"][3] == 100
    assert found["dark.items"][3] == 100
    assert found["calls"] == []


wide: list[Any] = []


def test_a_look_has_an_end() -> None:
    wide.extend([[[object() for _ in range(30)] for _ in range(30)] for _ in range(30)])
    entries, whole = kept.look(roots.Roots(own), bounds, [], 0.001)
    wide.clear()
    assert not whole
    assert len(entries) <= kept.MOST_ENTRIES + kept.MOST_ENTRIES // 3


def many_modules(monkeypatch: pytest.MonkeyPatch, count: int) -> list[Any]:
    """Modules of the user's own, more than one look can see."""
    made = []
    for number in range(count):
        module: Any = ModuleType(f"own_module_{number}")
        module.__file__ = f"/own/{number}.py"
        module.table = {each: (each, [each]) for each in range(30)}
        monkeypatch.setitem(sys.modules, module.__name__, module)
        made.append(module)
    return made


def looks_from_a_function(program: Any, count: int) -> list[tuple[dict[str, Any], bool]]:
    losses = [np.zeros(1000) for _ in range(50)]
    looks = []
    for _ in range(count):
        looks.append(kept.look(program, bounds, [here()], 0.5))
    losses.clear()
    return [({f"{entry[0]} in {entry[1]}": entry for entry in entries}, whole) for entries, whole in looks]


def test_what_functions_that_run_hold_is_seen_in_every_look_however_many_modules_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many_modules(monkeypatch, 300)
    program = roots.Roots(lambda file: file == HERE or file.startswith("/own/"))
    looks = looks_from_a_function(program, 5)
    for found, whole in looks:
        assert not whole and found["losses in test_inside_kept.py, looks_from_a_function"][3] == 50
    tables = {name for found, _ in looks for name in found if name.startswith("table in")}
    assert len(tables) > 8, "the others come in turn"


def test_a_module_whose_container_is_filled_is_seen_in_every_look_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    modules = many_modules(monkeypatch, 200)
    program = roots.Roots(lambda file: file.startswith("/own/"))
    store, seen = modules[150], []
    store.results = []
    for _ in range(6):
        store.results.append(bytes(100_000))
        entries, _ = kept.look(program, bounds, [], 0.5)
        seen += [entry[3] for entry in entries if entry[0] == "results"]
    assert seen == [3, 4, 5, 6], "the second look tells"


def test_a_module_that_holds_more_inside_is_seen_in_every_look_after_its_second_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    modules = many_modules(monkeypatch, 40)
    program = roots.Roots(lambda file: file.startswith("/own/"))
    store, seen = modules[30], []
    store.results = {"by name": []}
    for _ in range(60):
        store.results["by name"].append(bytes(100_000))
        entries, _ = kept.look(program, bounds, [], 0.5)
        seen += [entry[3] for entry in entries if entry[0] == "results['by name']"]
    assert seen[-20:] == list(range(41, 61))


def test_what_one_program_has_as_its_own_is_not_another_ones() -> None:
    everything = roots.Roots(lambda _: True)
    kept.look(everything, bounds, [], 0.01)
    entries, _ = kept.look(roots.Roots(own), bounds, [], 5.0)
    assert {entry[6] for entry in entries} <= {HERE, roots.file_of(sys.modules["__main__"])}


def test_a_cycle_has_an_end() -> None:
    by_name["self"] = by_name  # type: ignore[assignment]
    found = look()
    del by_name["self"]
    gc.collect()
    assert found["by_name"][3] == 3  # itself counts, and is not gone into


batches: queue.Queue[bytes] = queue.Queue(maxsize=1000)
unbounded: queue.Queue[bytes] = queue.Queue()


def test_the_bound_of_a_queue_is_told() -> None:
    for _ in range(50):
        batches.put(bytes(1000))
        unbounded.put(bytes(1000))
    found = look()
    assert found["batches"][2:4] == ["deque (maxsize 1000)", 50]
    assert found["unbounded"][2:4] == ["deque", 50]


def in_a_function_with(names: str) -> Any:
    """What is found in a function that uses these words and is running."""
    source = f"def running(look, here, np):\n    held = [bytes(100)] * 30\n    if held is None:\n        {names}\n    return look([here()])\n"
    space: dict[str, Any] = {}
    exec(compile(source, HERE, "exec"), space)
    return space["running"](look, here, np)


@pytest.mark.parametrize("words", ["np.stack(held)", "held.eval()", "held.dir.vars", "held.exec(stack=1)"])
def test_words_that_only_look_like_a_snapshot_do_not_hide_a_function(words: str) -> None:
    assert in_a_function_with(words)["held"][3] == 30


@pytest.mark.parametrize(
    "words", ["locals()", "vars()", "eval('held')", "sys._getframe()", "inspect.currentframe()", "inspect.stack()"]
)
@pytest.mark.skipif(sys.version_info >= (3, 13), reason="reading variables makes no snapshot there")
def test_a_function_that_may_use_a_snapshot_is_left_alone(words: str) -> None:
    assert "held" not in in_a_function_with(words)


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="reading variables makes no snapshot there")
@pytest.mark.parametrize("begin", [sys.setprofile, sys.settrace])
def test_variables_are_left_alone_where_the_program_is_profiled_or_traced(begin: Any) -> None:
    before = sys.getprofile(), sys.gettrace()
    try:
        begin(lambda *_: None)
        found = roots.variables(sys._getframe())
    finally:
        sys.setprofile(before[0])
        sys.settrace(before[1])
    assert found == []


class Hidden:
    __slots__ = ("__rows",)

    def __init__(self) -> None:
        self.__rows = [bytes(100)] * 40


class OfItsOwn(type):
    def __getattribute__(cls, name: str) -> Any:
        raise AssertionError(f"the program's own code ran: {name}")


def looks_at_what_hides() -> dict[str, list[Any]]:
    hidden, bag = Hidden(), SimpleNamespace(history=[bytes(100)] * 50)
    loud = OfItsOwn("Quiet", (), {"kept": [bytes(100)] * 60, "__module__": __name__})
    one = object.__new__(loud)
    object.__setattr__(one, "rows", [bytes(100)] * 70)
    several = [object.__new__(loud) for _ in range(80)]
    found = look([here()])
    del hidden, bag, loud, one, several
    return found


def test_private_slots_plain_namespaces_and_classes_with_a_metaclass_are_looked_into() -> None:
    found = looks_at_what_hides()
    assert found["hidden.__rows"][3] == 40
    assert found["bag.history"][3] == 50
    assert found["Quiet.kept"][3] == 60
    assert found["one.rows"][3] == 70
    assert found["several"][3] == 80


class App:
    def __init__(self) -> None:
        self.layout = [[{str(n): [n] for n in range(8)} for _ in range(30)] for _ in range(30)]
        self.results = [bytes(1000)] * 70


def look_at_an_app() -> tuple[dict[str, list[Any]], bool]:
    app = App()
    entries, whole = kept.look(roots.Roots(own), bounds, [here()], 5.0)
    del app
    return {entry[0]: entry for entry in entries}, whole


def test_an_attribute_that_leads_to_very_much_does_not_hide_the_next_one() -> None:
    found, whole = look_at_an_app()
    assert found["app.results"][3] == 70 and not whole


class Wide:
    def __init__(self) -> None:
        for number in range(60):
            setattr(self, f"part{number}", {"number": [number]})
        self.rows = [bytes(100)] * 70


class Deep:
    def __init__(self, inner: Any) -> None:
        self.inner = inner


def test_what_was_cut_off_on_a_long_way_is_seen_by_its_own_name() -> None:
    """One of them is looked into when the long way has used up its part."""
    parts = [Wide() for _ in range(8)]
    place = ("train.py, main", __file__, ())
    walk = kept.Walk(roots.Roots(own), bounds, 5.0)
    walk.along([("long", Deep(Deep(parts)), place)], None)
    assert not walk.whole
    walk.allow(1.0)
    walk.along([(f"part{number}", part, place) for number, part in enumerate(parts)], None)
    assert sum(entry[0].endswith(".rows") for entry in walk.entries) == len(parts)


class Rollout:
    def __init__(self) -> None:
        self.states = [np.zeros(1000) for _ in range(30)]
        self.actions = [np.zeros(1000) for _ in range(30)]
        self.done = True


def look_at_a_rollout() -> dict[str, list[Any]]:
    rollout, trainer = Rollout(), Trainer()
    found = look([here()])
    del rollout, trainer
    return found


def test_an_object_with_several_lists_is_told_with_the_sum_of_them() -> None:
    found = look_at_a_rollout()
    assert found["rollout"][2:4] == ["Rollout", None]
    assert found["rollout"][4] == found["rollout.states"][4] + found["rollout.actions"][4]
