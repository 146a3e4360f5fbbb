"""Lists for other programs: whole or not at all, and nothing else is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from crashcart.data.lists import write_good
from crashcart.data.state import State
from crashcart.errors import CannotCheckError
from crashcart.probe.file_source import LocalFile
from crashcart.probe.files_found import Found
from crashcart.sound import Checked, Wanted


@pytest.fixture
def state() -> State:
    state = State.passing(Wanted())
    state.claim([Found(LocalFile("a"), 3, 1)])
    state.record([Checked("a", 3, 1, "text")])
    return state


def test_a_file_of_the_name_with_part_is_left_alone(tmp_path: Path, state: State) -> None:
    (tmp_path / "good.txt.part").write_text("not ours")
    assert write_good(str(tmp_path / "good.txt"), state) == (1, 0)
    assert (tmp_path / "good.txt").read_text() == "a\n"
    assert (tmp_path / "good.txt.part").read_text() == "not ours"
    assert sorted(os.listdir(tmp_path)) == ["good.txt", "good.txt.part"]


def test_a_list_that_fails_leaves_the_one_before(tmp_path: Path, state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: str) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "good.txt").write_text("before\n")
    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(CannotCheckError, match="No space"):
        write_good(str(tmp_path / "good.txt"), state)
    assert [each.read_text() for each in tmp_path.iterdir()] == ["before\n"]
