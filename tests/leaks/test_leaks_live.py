"""A watch in the process itself: begins, ends, and leaves nothing behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from crashcart.leaks import live

history: list[bytes] = []


def work(turns: int, marks: Any) -> None:
    for _ in range(turns):
        history.append(bytes(30_000))
        time.sleep(0.006)
        marks()


@pytest.fixture(autouse=True)
def _as_it_was() -> Any:
    before = (list(sys.meta_path), vars(threading.Thread)["__init__"], signal.getsignal(51))
    yield
    history.clear()
    assert (list(sys.meta_path), vars(threading.Thread)["__init__"]) == before[:2]
    assert not tracemalloc.is_tracing()


def test_marked_steps_and_the_name_that_holds() -> None:
    watching = live.Watching().start()
    work(60, watching.mark)
    growth = watching.stop()
    assert growth.steps is not None
    assert (growth.steps.kind, growth.steps.count) == ("marked", 60)
    assert growth.limit_bytes is not None
    private = growth.named("private")
    assert private is not None
    assert len(private.steps) >= 16


def test_marks_reach_every_watch_and_go_nowhere_without_one() -> None:
    live.mark()
    watching = live.Watching().start()
    work(5, live.mark)
    live_steps = watching.growth().steps
    watching.stop()
    live.mark()
    assert live_steps is not None
    assert live_steps.kind == "marked"


def test_a_watch_can_be_begun_again() -> None:
    for _ in range(2):
        watching = live.Watching().start()
        work(20, watching.mark)
        steps = watching.stop().steps
        assert steps is not None
        assert steps.count == 20


LOOKS = """
import gc, sys
from crashcart.leaks import live

watching = live.Watching().start()
watch = watching._watch

def blocks_after(looks):
    for _ in range(looks):
        watch.next_s = watch.slow_s = watch.depth.kept_s = 0.0
        watching.mark()
    watching._memory.looks.clear()
    watching._memory._others.clear()
    gc.collect()
    return sys.getallocatedblocks()

print(*[blocks_after(150) for _ in range(4)])
"""


def test_the_watch_itself_does_not_grow() -> None:
    """In a process of its own, where nothing else allocates. What each look kept would show in every round."""
    done = subprocess.run([sys.executable, "-c", LOOKS], capture_output=True, text=True, check=True)
    blocks = [int(each) for each in done.stdout.split()]
    assert len(blocks) == 4
    assert min(after - before for before, after in pairwise(blocks)) < 150  # less than one for each look


def test_two_watches_see_one_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ask to be told of it; the module is loaded once, as ever."""
    (tmp_path / "framework_of_two.py").write_text("value = 3\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    told: list[str] = []
    watches = [live.Watching()._watch for _ in range(2)]
    for number, watch in enumerate(watches):
        watch.hooks.add(
            {"framework_of_two": lambda _hooks, module, number=number: told.append(f"{number} {module.value}")}
        )
        watch.start()
    try:
        assert __import__("framework_of_two").value == 3
    finally:
        for watch in reversed(watches):
            watch.stop()
    assert sorted(told) == ["0 3", "1 3"]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="loops are watched by the interpreter")
def test_the_signal_serves_the_next_watch_too() -> None:
    for _ in range(2):
        watching = live.Watching().start()
        turns = 0
        while turns < 60:
            history.append(bytes(1000))
            time.sleep(0.006)
            turns += 1
        growth = watching.stop()
        assert "loops" not in growth.lacking
        assert signal.getsignal(51).watch is None  # type: ignore[union-attr]
