"""Names that hold things are found, whatever leads to them, and nothing is kept alive by looking."""

from __future__ import annotations

import gc
import queue
import sys
import weakref
from collections import deque
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from crashcart.blackbox.inside import load

INSIDE = Path(__file__).resolve().parents[4] / "src" / "crashcart" / "leaks" / "inside"
kept: Any = load(INSIDE / "_crashcart_kept.py")
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
    entries, whole = kept.look(own, bounds, frames or [], 5.0)
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
    entries, whole = kept.look(own, bounds, [], 0.001)
    wide.clear()
    assert not whole
    assert len(entries) <= kept.MOST_ENTRIES + kept.MOST_ENTRIES // 3


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
