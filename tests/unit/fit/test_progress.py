"""What is being done, in a notebook: nothing while it is fast, one line that changes, nothing left behind."""

from __future__ import annotations

import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from crashcart.cli import fit_live, fit_progress
from crashcart.cli.fit_ask import Progress
from crashcart.cli.fit_live import Question
from crashcart.cli.fit_progress import NotebookProgress, progress_here, told_meanwhile


class Output:
    """What a cell shows, in place of IPython's display."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def __call__(self, data: dict[str, str], raw: bool, display_id: bool) -> Output:
        assert raw and display_id and not self.shown
        self.update(data, raw)
        return self

    def update(self, data: dict[str, str], raw: bool) -> None:
        self.shown.append(data["text/plain"])


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_progress, "QUIET_S", 0.05)
    monkeypatch.setattr(fit_progress, "_EACH_S", 0.02)


def test_work_that_does_not_report_is_shown_while_it_lasts(quick: None) -> None:
    output, before = Output(), threading.active_count()
    with told_meanwhile(NotebookProgress(output)) as say:
        say("tracing the step")
        time.sleep(0.3)
    assert len(output.shown) > 2 and all(each.startswith("tracing the step, ") for each in output.shown[:-1])
    assert output.shown[-1] == "" and threading.active_count() == before


def test_nothing_is_shown_while_it_is_fast() -> None:
    output = Output()
    with told_meanwhile(NotebookProgress(output)) as say:
        say("tracing the step")
    assert output.shown == []


def test_a_notebook_is_told_from_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("IPython")
    import IPython

    assert isinstance(progress_here(None), Progress)
    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(kernel=object()))
    assert "IPython" in sys.modules and isinstance(progress_here(None), NotebookProgress)


def test_a_live_model_tells_what_is_done(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    output = Output()

    class Slow:
        def __init__(self, *given: Any) -> None:
            given[-1]("tracing the step")
            time.sleep(0.3)
            raise ValueError("no more")

    keras = pytest.importorskip("keras")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    monkeypatch.setattr(fit_live, "Estimator", Slow)
    monkeypatch.setattr(fit_live, "progress_here", lambda _: NotebookProgress(output))
    with pytest.raises(Exception, match="no more"):
        fit_live.examined_live(model, None, Question(2, "predict", "1G"))
    assert any(each.startswith("tracing the step") for each in output.shown) and output.shown[-1] == ""
