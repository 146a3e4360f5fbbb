"""Which recordings are of which kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from crashcart.blackbox import kernels, store


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CRASHCART_HOME", str(tmp_path))
    return store.runs_folder()


def recording(runs: Path, name: str, kernel_id: str | None, notebook: str | None = None, ended: bool = True) -> Path:
    folder = runs / name
    folder.mkdir(parents=True)
    if kernel_id is not None:
        kernels.introduce(folder, kernel_id, "/tmp/kernel.json", notebook)
    if ended:
        (folder / "ending.json").write_text("{}")
    return folder


def test_the_last_life_of_the_same_kernel(runs: Path) -> None:
    recording(runs, "1", "a")
    wanted = recording(runs, "2", "a")
    recording(runs, "3", "b")
    recording(runs, "4", None)
    recording(runs, "5", "a", ended=False)
    assert next(kernels.ended_lives("a")) == wanted


def test_a_new_kernel_of_the_same_notebook_knows_the_old_ones(runs: Path) -> None:
    wanted = recording(runs, "1", "a", "/home/ada/train.ipynb")
    recording(runs, "2", "b", "/home/ada/other.ipynb")
    recording(runs, "3", "c", "/home/ada/train.ipynb", ended=False)
    assert next(kernels.ended_lives("c")) == wanted


def test_a_kernel_without_a_notebook_is_not_taken_for_another(runs: Path) -> None:
    recording(runs, "1", "a", None)
    recording(runs, "2", "b", None, ended=False)
    assert list(kernels.ended_lives("b")) == []


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"kernel_id": 1}', "\x00"])
def test_a_damaged_note_is_no_kernel(runs: Path, text: str) -> None:
    folder = recording(runs, "1", "a")
    (folder / kernels.FILE_NAME).write_text(text)
    assert kernels.read_kernel(folder) is None
