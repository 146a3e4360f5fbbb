"""Steps are counted where an attribute is looked up: no frame of ours in a traceback, and everything can be taken out again."""

from __future__ import annotations

import sys
import threading
import traceback
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from crashcart.blackbox.inside import load

INSIDE = Path(__file__).resolve().parents[4] / "src" / "crashcart" / "leaks" / "inside"
load(INSIDE / "_crashcart_leaks.py")  # it loads the others, by name
steps: Any = load(INSIDE / "_crashcart_steps.py")


class Trainer:
    """Stands for a framework's class."""

    def __init__(self) -> None:
        self.done = 0

    def run(self, fails: bool = False) -> int:
        if fails:
            raise LookupError("no such batch")
        self.done += 1
        return self.done


@pytest.fixture
def hooks() -> Any:
    beats: list[int] = []
    counts = steps.Counts(lambda: beats.append(1))
    made = steps.Hooks(counts)
    made.beats = beats
    yield made
    made.remove()


def count_runs(hooks: Any) -> None:
    hooks.count_look_up(Trainer, "run", lambda _: hooks.counts.step("session run", "runs"))


def test_a_look_up_on_an_instance_is_a_step_and_the_result_is_the_plain_one(hooks: Any) -> None:
    count_runs(hooks)
    trainer = Trainer()
    assert [trainer.run(), trainer.run()] == [1, 2]
    assert hooks.counts.counts == [2]
    assert len(hooks.beats) == 2


def test_a_look_up_on_the_class_is_no_step(hooks: Any) -> None:
    plain = Trainer.run
    count_runs(hooks)
    assert Trainer.run is plain
    assert hooks.counts.counts == []


def test_a_traceback_has_no_frame_of_ours(hooks: Any) -> None:
    count_runs(hooks)
    with pytest.raises(LookupError) as caught:
        Trainer().run(fails=True)
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][-1] == "run"
    assert not [frame for frame in traceback.extract_tb(caught.value.__traceback__) if "_crashcart" in frame.filename]


def test_a_failure_of_ours_does_not_reach_the_program(hooks: Any) -> None:
    hooks.count_look_up(Trainer, "run", lambda _: 1 / 0)
    assert Trainer().run() == 1


def test_constructors_can_be_counted_too(hooks: Any) -> None:
    made: list[str] = []
    hooks.count_look_up(Trainer, "__init__", lambda thing: made.append(type(thing).__name__))

    class Own(Trainer):
        def __init__(self) -> None:
            super().__init__()

    assert Own().done == 0
    assert made == ["Own"]


def test_all_is_as_it_was_after_removal(hooks: Any) -> None:
    before, plain = list(sys.meta_path), vars(Trainer)["run"]
    hooks.install()
    count_runs(hooks)
    assert vars(Trainer)["run"] is not plain
    hooks.remove()
    assert vars(Trainer)["run"] is plain
    assert sys.meta_path == before


def test_what_another_has_replaced_since_is_left_to_it(hooks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trainer, "run", vars(Trainer)["run"])
    count_runs(hooks)

    def another(self: Trainer) -> int:
        return 7

    Trainer.run = another  # type: ignore[method-assign,assignment]
    hooks.remove()
    assert Trainer().run() == 7


def test_a_framework_is_met_when_the_program_imports_it(
    hooks: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "met_by_crashcart.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    met: list[types.ModuleType] = []
    hooks.add({"met_by_crashcart": lambda _, module: met.append(module)})
    hooks.install()
    assert met == []
    import met_by_crashcart  # type: ignore[import-not-found]

    assert met == [met_by_crashcart]
    assert "exec_module" not in vars(met_by_crashcart.__spec__.loader)


def test_a_release_that_is_different_is_said_to_be(hooks: Any) -> None:
    hooks.places = {"sys": [lambda _, module: module.no_such_thing]}
    hooks.meet("sys", sys)
    assert "no_such_thing" in hooks.lacking["sys"]


def test_too_many_kinds_are_not_told_apart() -> None:
    counts = steps.Counts(lambda: None)
    for number in range(2 * steps.MOST_KEYS):
        counts.step("tf.function call", f"calls of f{number}")
    assert len(counts.counts) == steps.MOST_KEYS


@pytest.mark.parametrize(
    ("file", "own"),
    [
        ("/home/me/train.py", True),
        ("/usr/lib/python3.11/threading.py", False),
        ("/env/lib/python3.11/site-packages/keras/src/x.py", False),
        ("<frozen importlib._bootstrap>", False),
        (str(INSIDE / "_crashcart_steps.py"), False),
        ("/tmp/__autograph_generated_fileabc.py", False),
        ("/tmp/ipykernel_1/123.py", True),
    ],
)
def test_own_code(file: str, own: bool) -> None:
    assert steps.is_own(file) is own


def test_a_librarys_steps_are_looked_at_only_while_there_are_no_others() -> None:
    beats: list[int] = []
    counts = steps.Counts(lambda: beats.append(1))
    counts.step("tf.function call", "calls of a library", False)
    counts.step("keras batch", "batches")
    counts.step("tf.function call", "calls of a library", False)
    assert (counts.counts, len(beats)) == ([2, 1], 2)


def test_the_threads_of_a_pool_are_made_once(hooks: Any) -> None:
    made: Any = load(INSIDE / "_crashcart_alive.py").Alive(lambda file: file == __file__)
    made._threads(hooks, threading)
    done = threading.Event()
    with ThreadPoolExecutor(8) as pool:
        for _ in range(8):
            pool.submit(done.wait, 20)
        alone = [threading.Thread(target=int) for _ in range(3)]
        assert len(made.of_kind("thread")) == 1 + len(alone)
        done.set()
