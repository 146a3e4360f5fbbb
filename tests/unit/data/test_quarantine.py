"""Quarantine: moved, never deleted, and back again."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from crashcart.data.quarantine import UNDO, Quarantine
from crashcart.data.quarantine_undo import GONE, undo
from crashcart.errors import UsageError
from crashcart.sound import Checked, Fault


def damaged(path: Path, kind: str = "truncated") -> Checked:
    there = path.stat() if path.exists() else None
    size, modified_ns = (None, None) if there is None else (there.st_size, there.st_mtime_ns)
    return Checked(str(path), size, modified_ns, "jpeg", faults=(Fault(kind, "x"),))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data" / "sub").mkdir(parents=True)
    (tmp_path / "data" / "sub" / "a.jpg").write_text("one")
    (tmp_path / "data" / "new\nline").write_text("two")
    return tmp_path / "data"


def test_files_keep_their_place_and_come_back(data: Path, tmp_path: Path) -> None:
    moved = Quarantine(str(tmp_path / "bad"), [str(data)]).move(
        [damaged(data / "sub" / "a.jpg"), damaged(data / "new\nline")]
    )
    assert (moved.files, moved.stayed) == (2, [])
    assert (tmp_path / "bad" / "sub" / "a.jpg").read_text() == "one"
    assert (tmp_path / "bad" / "new\nline").read_text() == "two"
    assert not (data / "sub" / "a.jpg").exists()
    listed = [json.loads(line) for line in (tmp_path / "bad" / UNDO).read_text().splitlines()]
    assert listed[0] == {"from": str(data / "sub" / "a.jpg"), "to": "sub/a.jpg"}
    assert [reason for _, _, reason in undo(str(tmp_path / "bad"))] == [None, None]
    assert (data / "sub" / "a.jpg").read_text() == "one" and (data / "new\nline").read_text() == "two"
    assert list(undo(str(tmp_path / "bad"))) == []


def test_nothing_is_overwritten_there_or_back(data: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    for text in ("one", "other"):
        (data / "sub" / "a.jpg").write_text(text)
        Quarantine(str(bad), [str(data)]).move([damaged(data / "sub" / "a.jpg")])
    assert (bad / "sub" / "a.jpg").read_text() == "one" and (bad / "sub" / "a-2.jpg").read_text() == "other"
    (data / "sub" / "a.jpg").write_text("new")
    assert {reason for _, _, reason in undo(str(bad))} == {"there is a file by that name again"}
    assert (data / "sub" / "a.jpg").read_text() == "new" and (bad / "sub" / "a.jpg").read_text() == "one"


def test_on_another_file_system_the_copy_is_whole_before_the_original_goes(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.rename

    def rename(old: str, new: str) -> None:
        if not str(old).endswith(".part"):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        real(old, new)

    monkeypatch.setattr(os, "rename", rename)
    path = data / "sub" / "a.jpg"
    os.utime(path, ns=(5, 5))
    assert Quarantine(str(tmp_path / "bad"), [str(data)]).move([damaged(path)]).files == 1
    there = tmp_path / "bad" / "sub" / "a.jpg"
    assert (there.read_text(), there.stat().st_mtime_ns, path.exists()) == ("one", 5, False)
    assert os.listdir(there.parent) == ["a.jpg"]


@pytest.mark.parametrize("fails", [False, True])
def test_on_another_file_system_what_lies_beside_the_target_is_left_alone(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    real = os.rename

    def rename(old: str, new: str) -> None:
        if fails or not str(old).endswith(".part"):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        real(old, new)

    monkeypatch.setattr(os, "rename", rename)
    beside = tmp_path / "bad" / "sub" / "a.jpg.part"
    beside.parent.mkdir(parents=True)
    beside.write_text("not ours")
    (data / "sub" / "link").symlink_to("nowhere")
    moved = Quarantine(str(tmp_path / "bad"), [str(data)]).move(
        [damaged(data / "sub" / "a.jpg"), damaged(data / "sub" / "link", "dangling-link")]
    )
    assert (moved.files, moved.stayed_files) == ((0, 2) if fails else (2, 0))
    assert beside.read_text() == "not ours"
    assert sorted(os.listdir(beside.parent)) == (["a.jpg.part"] if fails else ["a.jpg", "a.jpg.part", "link"])
    assert (data / "sub" / "a.jpg").exists() is fails


def test_what_fails_stays_where_it_was(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(old: str, new: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "rename", refuse)
    moved = Quarantine(str(tmp_path / "bad"), [str(data)]).move([damaged(data / "sub" / "a.jpg")])
    assert moved.stayed == [(str(data / "sub" / "a.jpg"), "No space left on device")]
    assert (data / "sub" / "a.jpg").read_text() == "one"


def test_what_is_not_damaged_itself_stays(data: Path, tmp_path: Path) -> None:
    path = data / "sub" / "a.jpg"
    os.mkfifo(data / "fifo")
    (data / "link").symlink_to("nowhere")
    changed = Checked(str(data / "new\nline"), 99, 1, faults=(Fault("truncated", "x"),))
    moved = Quarantine(str(tmp_path / "bad"), [str(data)]).move(
        [damaged(path, "unreadable"), damaged(data / "fifo", "not-a-file"), damaged(data / "gone", "missing"), changed,
         damaged(data / "link", "dangling-link")]
    )  # fmt: skip
    assert moved.files == 1 and (tmp_path / "bad" / "link").is_symlink()
    assert [reason for _, reason in moved.stayed] == [
        "it could not be read, so nobody knows whether it is damaged",
        "it is no file",
        "No such file or directory",
        "it has changed since it was checked",
    ]


def test_a_quarantine_among_the_data_is_refused(data: Path) -> None:
    for folder in (data / "bad", data):
        with pytest.raises(UsageError, match="lies in"):
            Quarantine(str(folder), [str(data)])
    Quarantine(str(data) + "-bad", [str(data)])


def test_a_folder_that_is_no_quarantine_cannot_be_undone(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no quarantine"):
        list(undo(str(tmp_path)))


@pytest.mark.parametrize("torn", [b'{"from": "/da', b"\xff\xfe", b"[1]", b'{"from": 1, "to": 2}', b'{"to": "/x"}'])
def test_a_torn_line_costs_no_other_file(data: Path, tmp_path: Path, torn: bytes) -> None:
    bad = tmp_path / "bad"
    Quarantine(str(bad), [str(data)]).move([damaged(data / "sub" / "a.jpg")])
    with (bad / UNDO).open("ab") as file:
        file.write(torn)
    Quarantine(str(bad), [str(data)]).move([damaged(data / "new\nline")])
    told = list(undo(str(bad)))
    assert [reason for _, _, reason in told] == [None, "the line is torn", None]
    assert told[1][0] == f"what line 2 of {UNDO} names"
    assert (data / "sub" / "a.jpg").read_text() == "one" and (data / "new\nline").read_text() == "two"


def quarantined(bad: Path, *paths: Path) -> None:
    """Each of them moved, from the folder that it lies in."""
    moved = Quarantine(str(bad), sorted({str(each.parent) for each in paths})).move(map(damaged, paths))
    assert moved.files == len(paths), moved.stayed


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def reasons(bad: Path) -> list[str | None]:
    return [reason for _, _, reason in undo(str(bad))]


@pytest.mark.parametrize("listed_again", [False, True], ids=["the list is shortened", "a list that could not be"])
def test_a_file_goes_back_to_its_own_data_set_alone(tmp_path: Path, listed_again: bool) -> None:
    bad, first, second = tmp_path / "bad", tmp_path / "d1" / "x.jpg", tmp_path / "d2" / "x.jpg"
    quarantined(bad, written(first, "one"))
    before = (bad / UNDO).read_bytes()
    assert reasons(bad) == [None] and (bad / UNDO).read_bytes() == b""
    if listed_again:  # as a kill, or a full disk, leaves it
        (bad / UNDO).write_bytes(before)
    first.unlink()
    quarantined(bad, written(second, "two"))
    written(second, "another")
    assert reasons(bad) == ["there is a file by that name again"]
    assert not first.exists() and second.read_text() == "another" and (bad / "x.jpg").read_text() == "two"
    second.unlink()
    assert reasons(bad) == [None] and second.read_text() == "two" and (bad / UNDO).read_bytes() == b""


def test_a_quarantine_that_was_moved_can_be_undone(tmp_path: Path) -> None:
    bad, path = tmp_path / "bad", tmp_path / "d" / "x.jpg"
    quarantined(bad, written(path, "one"), written(tmp_path / "d" / "y.jpg", "two"))
    bad.rename(tmp_path / "elsewhere")
    assert reasons(tmp_path / "elsewhere") == [None, None] and path.read_text() == "one"


def test_a_list_of_an_early_release_is_read(tmp_path: Path) -> None:
    bad, path = tmp_path / "bad", tmp_path / "d" / "x.jpg"
    written(bad / "x.jpg", "one")
    (bad / UNDO).write_text(json.dumps({"from": str(path), "to": str(bad / "x.jpg")}) + "\n")
    bad.rename(tmp_path / "elsewhere")
    assert reasons(tmp_path / "elsewhere") == [GONE], "it names a place where nothing is: told, not passed over"
    (tmp_path / "elsewhere").rename(bad)
    assert reasons(bad) == [None] and path.read_text() == "one"


def test_what_is_in_neither_place_is_told_each_time(tmp_path: Path) -> None:
    bad, path = tmp_path / "bad", tmp_path / "d" / "x.jpg"
    quarantined(bad, written(path, "one"), written(tmp_path / "d" / "y.jpg", "two"))
    (bad / "x.jpg").unlink()
    assert sorted(map(str, reasons(bad))) == ["None", GONE]
    assert list(undo(str(bad))) == [(str(bad / "x.jpg"), str(path), GONE)]


def test_a_target_that_cannot_be_costs_no_other_file(tmp_path: Path) -> None:
    roots = [str(tmp_path / name) for name in ("r1", "r2", "r3")]
    files = [
        written(tmp_path / "r1" / "x.jpg", "one"),
        written(tmp_path / "r2" / "x.jpg" / "y.jpg", "two"),
        written(tmp_path / "r3" / "z.jpg", "three"),
    ]
    bad = tmp_path / "bad"
    moved = Quarantine(str(bad), roots).move(map(damaged, files))
    assert (moved.files, moved.stayed) == (2, [(str(files[1]), f"File exists: {bad / 'x.jpg'}")])
    assert reasons(bad) == [None, None] and all(each.exists() for each in files)


def test_a_move_that_failed_is_not_looked_for_later(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, bad = data / "sub" / "a.jpg", tmp_path / "bad"
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", lambda old, new: (_ for _ in ()).throw(OSError(errno.EACCES, "no")))
        assert Quarantine(str(bad), [str(data)]).move([damaged(path)]).stayed_files == 1
    path.unlink()
    assert reasons(bad) == []


def test_a_folder_that_cannot_be_written_costs_no_report(data: Path, tmp_path: Path) -> None:
    quarantine = Quarantine(str(tmp_path / "bad" / "deep"), [str(data)])
    (tmp_path / "bad").write_text("a file came in the way")
    moved = quarantine.move([damaged(data / "sub" / "a.jpg")])
    assert moved.files == 0 and "cannot write to" in moved.stayed[0][1]
    with pytest.raises(UsageError, match="is no folder"):
        Quarantine(str(tmp_path / "bad"), [str(data)])


def test_a_file_of_another_time_stays_though_its_size_is_the_same(data: Path, tmp_path: Path) -> None:
    path = data / "sub" / "a.jpg"
    (data / "link").symlink_to(path)
    found, linked = damaged(path), damaged(data / "link")
    path.write_text("new")
    os.utime(path, ns=(1, 1))
    moved = Quarantine(str(tmp_path / "bad"), [str(data)]).move([found, linked])
    assert moved.files == 0 and {reason for _, reason in moved.stayed} == {"it has changed since it was checked"}


def test_a_quarantine_among_the_data_is_refused_by_whatever_name(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(data)
    monkeypatch.chdir(tmp_path)
    for folder, path in (
        ("data/bad", "link"),
        ("link/bad", "data"),
        ("data/bad", "data/**/*.jpg"),
        ("data/bad", "link/**/*.jpg"),
        ("data/bad", "data/*/*.jpg"),
        ("data/bad", "data/*"),
        ("data/sub/bad", "data/s*"),
        ("data/bad", "*/"),
        ("bad", "**/*.jpg"),
        ("data", f"{tmp_path}/data/*.jpg"),
    ):
        with pytest.raises(UsageError, match="lies in"):
            Quarantine(folder, [path])
    for folder, path in (
        ("bad", "data/**/*.jpg"),
        ("data/bad", "data/*.jpg"),  # the pattern names nothing in it
        ("data/bad", "data/sub/*.jpg"),
        ("bad", "*.jpg"),
        ("bad", "@list.txt"),
        ("bad", "s3://bucket/*"),
    ):
        Quarantine(folder, [path])


def test_files_of_a_pattern_keep_their_place_below_its_fixed_part(data: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    Quarantine(str(bad), [f"{data}/**/*.jpg"]).move([damaged(data / "sub" / "a.jpg")])
    assert (bad / "sub" / "a.jpg").read_text() == "one"
