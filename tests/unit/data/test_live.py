"""`cc.data` and `%data` in the user's own process."""

from __future__ import annotations

import errno
from itertools import count
from pathlib import Path

import pytest

import crashcart as cc
from crashcart.cli import data_engines
from crashcart.data import pool
from crashcart.data.process import Process
from crashcart.errors import CannotCheckError, UsageError
from tests.unit.data.checkers import JOB


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CRASHCART_HOME", str(tmp_path / "home"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("one\n")
    return tmp_path / "data"


def test_the_function_returns_what_was_learnt_and_prints_nothing(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = cc.data(data)
    assert done.sound and done.survey.files == 1 and done.verdict is None
    assert "the file" not in str(done) and "1 file is sound" in str(done)
    assert done.to_document()["good_files"] == 1
    assert capsys.readouterr() == ("", "")
    (data / "b.png").touch()
    done = cc.data(str(data), duplicates=False)
    assert not done.sound and done.verdict is not None and done.verdict.code == "S102"
    assert "1 of 2 files is damaged" in done._repr_html_()


def test_wrong_arguments_are_said(data: Path) -> None:
    with pytest.raises(UsageError, match="there is no"):
        cc.data(data / "nothing")
    with pytest.raises(UsageError, match="no path"):
        cc.data()


def test_the_magic_shows_the_page(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    interactiveshell = pytest.importorskip("IPython.core.interactiveshell")
    monkeypatch.setenv("IPYTHONDIR", str(data.parent / "ipython"))
    shell = interactiveshell.InteractiveShell.instance()
    try:
        shell.run_line_magic("load_ext", "crashcart")
        found = shell.run_cell(f"%data {data} --html {data.parent / 'page.html'}").result
        assert found.survey.files == 1 and "1 file is sound" in found._repr_html_()
        assert (data.parent / "page.html").exists()
        assert shell.run_cell("%data nothing-here").result is None
        assert "there is no nothing-here" in capsys.readouterr().out
    finally:
        interactiveshell.InteractiveShell.clear_instance()


def test_a_run_whose_processes_cannot_be_started_any_more_tells_what_is_done(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_engines, "CHECK", JOB)
    for number in range(300):
        (data / f"{number:04d}.txt").write_text("sound" if number < 200 else "killed")
    begun = count()

    def refused(*arguments: object) -> Process:
        if next(begun) < 1:
            return Process(*arguments)  # type: ignore[arg-type]
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(pool, "Process", refused)
    done = cc.data(data, workers=1, duplicates=False)
    survey = done.survey
    assert survey.interrupted and survey.stopped is not None and "could not be started" in survey.stopped
    assert 64 <= survey.files < 300 and survey.pending_files > 0 and not done.sound
    assert "stopped after" in str(done) and "Resource temporarily unavailable" in str(done)
    begun = count(1)
    with pytest.raises(CannotCheckError, match="could not be started"):
        cc.data(data, workers=1, duplicates=False, fresh=True)


def test_quick_is_an_argument(data: Path) -> None:
    done = cc.data(data, quick=True)
    assert done.survey.quick and "quick check" in str(done) and done.to_document()["quick"] is True
    assert not cc.data(data).survey.quick
