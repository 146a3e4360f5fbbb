"""The state: what is known is not read again, nothing is counted twice, and a damaged file is no obstacle."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from crashcart.data.state import State, _checks_mark, wanted_mark
from crashcart.errors import CannotCheckError
from crashcart.probe.file_lacking import versions
from crashcart.probe.file_source import LocalFile
from crashcart.probe.files_found import Aside, Found, find
from crashcart.sound import ODD, UNCHECKED, Checked, Fault, Wanted
from tests.conftest import ROOT

WANTED = Wanted(duplicates=True)


def found(path: str, count_bytes: int | None = 3, modified_ns: int | None = 1) -> Found:
    return Found(LocalFile(path), count_bytes, modified_ns)


def checked(path: str, *faults: Fault, digest: str | None = "d") -> Checked:
    return Checked(path, 3, 1, "text", digest, faults, {"lines": 1})


def claimed(state: State, *files: Found) -> list[str]:
    return [each.source.path for each in state.claim(files)[0]]


def test_a_second_run_knows_what_has_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    state = State.open(path, WANTED)
    assert claimed(state, found("a"), found("b")) == ["a", "b"]
    bad = checked("b", Fault("truncated", "ends", "byte 3"))
    assert state.record([checked("a"), bad]) == [checked("a"), bad]
    state.close()
    state = State.open(path, WANTED)
    unknown, known = state.claim([found("a"), found("b"), found("c")])
    assert [each.source.path for each in unknown] == ["c"]
    assert known == [checked("a"), bad]
    assert (state.known, state.pending()) == (2, 1)
    state.close()


@pytest.mark.parametrize(
    "again", [found("a", 4), found("a", 3, 2), found("a", None, None)], ids=["size", "time", "not to be seen"]
)
def test_what_has_changed_is_checked_again(tmp_path: Path, again: Found) -> None:
    state = State.open(tmp_path / "s.sqlite", WANTED)
    state.claim([found("a")])
    state.record([checked("a")])
    state.close()
    state = State.open(tmp_path / "s.sqlite", WANTED)
    assert claimed(state, again) == ["a"]
    state.close()


def test_other_wishes_are_other_results(tmp_path: Path) -> None:
    state = State.open(tmp_path / "s.sqlite", WANTED)
    state.claim([found("a")])
    state.record([checked("a")])
    state.close()
    state = State.open(tmp_path / "s.sqlite", replace(WANTED, classes=3))
    assert claimed(state, found("a")) == ["a"]
    state.close()


def test_other_libraries_and_native_parts_are_other_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def anew() -> str:
        _checks_mark.cache_clear()
        return wanted_mark(WANTED)

    before = anew()
    assert anew() == before
    with monkeypatch.context() as patch:
        (tmp_path / "Pillow-0.0.1.dist-info").mkdir()
        patch.setattr(sys, "path", [str(tmp_path), *sys.path])
        assert anew() != before
    assert anew() == before
    built = tmp_path / "lib.so"
    built.write_bytes(b"other code")
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[wanted_mark.__module__], "library", lambda: built)
        assert anew() != before
    assert anew() == before


def test_versions_are_those_that_are_installed() -> None:
    assert versions()["pillow"] == metadata.version("pillow")
    assert versions()["google-crc32c"] == metadata.version("google-crc32c")


def test_a_quick_look_is_no_whole_check_and_a_whole_check_is_good_enough_for_a_quick_look(tmp_path: Path) -> None:
    quick = replace(WANTED, quick=True)
    for first, second, again in ((quick, WANTED, ["a"]), (quick, quick, []), (WANTED, quick, []), (WANTED, WANTED, [])):
        path = tmp_path / f"{first.quick}-{second.quick}.sqlite"
        state = State.open(path, first)
        state.claim([found("a")])
        state.record([checked("a")])
        state.close()
        state = State.open(path, second)
        assert claimed(state, found("a")) == again
        state.close()


def test_a_quick_run_leaves_a_whole_result_whole(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    for wanted in (WANTED, replace(WANTED, quick=True), WANTED):
        state = State.open(path, wanted)
        unknown = claimed(state, found("a"))
        state.record([checked("a")])
        state.close()
    assert unknown == []


def test_the_libraries_are_those_of_the_extra() -> None:
    listed = re.search(r"^data = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.M | re.S)
    assert listed is not None
    assert {*versions()} == {"python", *re.findall(r'"([\w-]+)', listed[1])} - {"fsspec"}


@pytest.mark.parametrize("kind", ["unreadable", "decoder-crashed", "too-slow", "not-checked", "no-library"])
def test_what_may_be_gone_by_itself_is_looked_at_again(tmp_path: Path, kind: str) -> None:
    state = State.open(tmp_path / "s.sqlite", WANTED)
    state.claim([found("a")])
    state.record([checked("a", Fault(kind, "x"))])
    state.close()
    state = State.open(tmp_path / "s.sqlite", WANTED)
    assert claimed(state, found("a")) == ["a"]
    state.close()


def test_a_copy_under_the_same_relative_name_is_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, expected in (("one", ["data/a"]), ("two", ["data/a"]), ("one", [])):
        (tmp_path / name).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / name)
        state = State.open(tmp_path / "s.sqlite", WANTED)
        assert claimed(state, found("data/a")) == expected
        state.record([checked("data/a")])
        state.close()


def test_a_copy_in_the_place_of_a_file_is_checked_again(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one")
    for _ in range(2):
        state = State.open(tmp_path / "s.sqlite", WANTED)
        files = list(find([str(path)], Aside()))
        assert claimed(state, *files) == [str(path)]
        state.record([checked(str(path))])
        assert claimed(state, *files) == []
        state.close()
        state = State.open(tmp_path / "s.sqlite", WANTED)
        assert claimed(state, *find([str(path)], Aside())) == [], "the file itself is known"
        state.close()
        other = tmp_path / "other"
        other.write_text("two")
        os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
        while other.stat().st_ctime_ns == path.stat().st_ctime_ns:
            other.chmod(0o600)
        other.rename(path)


def test_one_file_under_two_names_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to("elsewhere/deep")
    state = State.passing(WANTED)
    names = ["sub/a", "./sub/a", "sub//a", "sub/../sub/a", str(tmp_path / "sub" / "a"), "link/../a", "a..b"]
    assert claimed(state, *map(found, names)) == ["sub/a", "link/../a", "a..b"]
    assert claimed(state, found("./sub/./a"), found("a")) == ["a"], "link/../a is elsewhere/a"
    assert state.repeated == 5
    assert [each.path for each in state.record([checked("sub/a"), checked("link/../a")])] == ["sub/a", "link/../a"]


def test_known_files_bear_the_name_that_was_typed_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "./a"):
        state = State.open(tmp_path / "s.sqlite", WANTED)
        _, known = state.claim([found(name)])
        state.record([checked(name)])
        assert [each.path for each in state.all()] == [name]
        state.close()
    assert known == [checked("./a")]


def test_nothing_is_claimed_or_recorded_twice() -> None:
    state = State.passing(WANTED)
    assert claimed(state, found("a"), found("a"), found("b")) == ["a", "b"]
    assert claimed(state, found("b")) == []
    assert state.repeated == 2
    assert state.record([checked("a"), checked("a")]) == [checked("a")]
    assert state.record([checked("a"), checked("never claimed")]) == []
    assert [each.path for each in state.all()] == ["a"] and state.pending() == 1


def test_what_is_known_without_a_check_needs_none() -> None:
    state = State.passing(WANTED)
    closed = Found(LocalFile("folder"), fault=Fault("unreadable", "the folder cannot be listed"))
    unknown, known = state.claim([closed])
    assert unknown == [] and [each.faults[0].kind for each in known] == ["unreadable"]
    assert [each.path for each in state.faulty()] == ["folder"]


def test_lists_are_in_order_of_path_with_names_of_any_bytes() -> None:
    state = State.passing(WANTED)
    names = ["b", os.fsdecode(b"\xff"), "a\nb", "a"]
    state.claim([found(name) for name in names])
    half = Fault("not-checked", "x", weight=UNCHECKED)
    state.record([checked("b", Fault("nan", "x")), checked(names[1]), checked("a\nb", half), checked("a")])
    assert [each.path for each in state.all()] == ["a", "a\nb", "b", names[1]]
    assert list(state.good_paths()) == ["a", names[1]]
    assert [each.path for each in state.damaged_files()] == ["b"]


def test_a_damaged_state_is_put_aside_and_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    state = State.open(path, WANTED)
    state.claim([found(str(number)) for number in range(2000)])
    state.close()
    data = bytearray(path.read_bytes())
    data[4096:] = b"\x5a" * (len(data) - 4096)
    path.write_bytes(data)
    state = State.open(path, WANTED)
    assert "s.sqlite.damaged-1" in state.words[0] and (tmp_path / "s.sqlite.damaged-1").read_bytes() == bytes(data)
    assert claimed(state, found("a")) == ["a"]
    state.close()
    path.write_bytes(b"no database at all")
    state = State.open(path, WANTED, ours=True)
    assert "damaged-2" in state.words[0]
    state.close()


def test_a_file_that_is_no_state_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(b"\xff\xd8\xff")
    for fresh in (False, True):
        with pytest.raises(CannotCheckError, match="no state"):
            State.open(path, WANTED, fresh)
    assert path.read_bytes() == b"\xff\xd8\xff"


@pytest.mark.parametrize("mark", [0, 0x12345678])
@pytest.mark.parametrize("name", ["notes.sqlite", "notes.db"])
def test_a_database_of_somebody_else_is_left_alone(tmp_path: Path, name: str, mark: int) -> None:
    path = tmp_path / name
    database = sqlite3.connect(path)
    database.executescript(
        f"PRAGMA application_id = {mark}; CREATE TABLE files (name TEXT); INSERT INTO files VALUES (1)"
    )
    database.close()
    before = path.read_bytes()
    for fresh in (False, True):
        with pytest.raises(CannotCheckError, match="no state"):
            State.open(path, WANTED, fresh)
    assert path.read_bytes() == before and os.listdir(tmp_path) == [name]


def test_what_is_no_database_is_not_put_aside_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite"
    path.write_bytes(b"no database at all")
    with pytest.raises(CannotCheckError, match="no state"):
        State.open(path, WANTED)
    assert path.read_bytes() == b"no database at all" and os.listdir(tmp_path) == ["notes.sqlite"]


@pytest.mark.parametrize("content", ["nothing", "an empty database"])
def test_an_empty_file_may_become_a_state(tmp_path: Path, content: str) -> None:
    path = tmp_path / "s.db"
    path.touch()
    if content == "an empty database":
        database = sqlite3.connect(path)
        database.executescript("PRAGMA user_version = 0; VACUUM")
        database.close()
    state = State.open(path, WANTED)
    assert claimed(state, found("a")) == ["a"]
    state.close()


KILLED = """
import os, sys
from pathlib import Path
from crashcart.data.state import State, wanted_mark
from crashcart.sound import Wanted
state = State.open(Path(sys.argv[1]), Wanted())
os.kill(os.getpid(), 9)
"""


def test_a_state_whose_run_was_killed_as_it_began_is_ours(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    subprocess.run([sys.executable, "-c", KILLED, str(path)], timeout=60)
    assert path.read_bytes()[68:72] == bytes(4), "our mark lies in the log"
    state = State.open(path, WANTED)
    assert claimed(state, found("a")) == ["a"]
    state.close()


def test_a_state_in_use_is_said(tmp_path: Path) -> None:
    state = State.open(tmp_path / "s.sqlite", WANTED)
    state.claim([found("a")])
    with pytest.raises(CannotCheckError, match="another run"):
        State.open(tmp_path / "s.sqlite", WANTED)
    state.close()


def test_fresh_forgets(tmp_path: Path) -> None:
    state = State.open(tmp_path / "s.sqlite", WANTED)
    state.claim([found("a")])
    state.record([checked("a")])
    state.close()
    state = State.open(tmp_path / "s.sqlite", WANTED, fresh=True)
    assert claimed(state, found("a")) == ["a"]
    state.close()


def test_rows_of_files_that_are_gone_are_dropped_on_request(tmp_path: Path) -> None:
    for name in ("a", "b"):
        state = State.open(tmp_path / "s.sqlite", WANTED)
        state.claim([found(name)])
        state.record([checked(name)])
        if name == "b":
            state.forget_what_is_gone()
        state.close()
    state = State.open(tmp_path / "s.sqlite", WANTED)
    assert claimed(state, found("a"), found("b")) == ["a"]
    state.close()


@pytest.mark.parametrize(
    ("fault", "forgotten"),
    [
        (Fault("unreadable", "the folder cannot be listed"), False),
        (Fault("not-fetched", "the listing broke off", weight=UNCHECKED), False),
        (Fault("link-loop", "a link back", weight=ODD), True),
    ],
    ids=["folder", "store", "nothing is missing"],
)
def test_a_listing_that_broke_off_forgets_nothing(tmp_path: Path, fault: Fault, forgotten: bool) -> None:
    state = State.open(tmp_path / "s.sqlite", WANTED)
    state.claim([found("folder/a")])
    state.record([checked("folder/a")])
    state.close()
    state = State.open(tmp_path / "s.sqlite", WANTED)
    state.claim([Found(LocalFile("folder"), fault=fault)])
    state.forget_what_is_gone()
    state.close()
    state = State.open(tmp_path / "s.sqlite", WANTED)
    assert claimed(state, found("folder/a")) == (["folder/a"] if forgotten else [])
    state.close()
