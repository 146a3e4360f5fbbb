"""Files of the same content: exactly those, with the marks of a real pool."""

from __future__ import annotations

from pathlib import Path

import pytest

from crashcart.data import examine_files
from crashcart.data.chunk import DIGEST
from crashcart.data.duplicates import duplicates, split_of
from crashcart.data.pool import Pool
from crashcart.data.state import State
from crashcart.evidence import Evidence
from crashcart.finding import Level
from crashcart.probe.files_found import Aside, find
from crashcart.sound import Checked, Wanted
from crashcart.survey import Duplicates, Survey

WANTED = Wanted(duplicates=True)


def found_in(folder: Path, mark: str | None = "same", form: str | None = "text") -> Duplicates:
    """With a first mark that is the same for all: the second look has to tell them apart."""
    state = State.passing(WANTED)
    files = list(find([str(folder)], Aside()))
    state.claim(files)
    state.record(Checked(each.source.path, each.bytes, 1, form, mark) for each in files)
    with Pool(WANTED, 1, job=DIGEST) as pool:
        return duplicates(state, pool)


def test_same_content_and_nothing_else(tmp_path: Path) -> None:
    for name, text in (
        ("a", "one"),
        ("b", "one"),
        ("c", "two"),
        ("d", "four"),
        ("e", "four"),
        ("f", "four"),
        ("g", ""),
    ):
        (tmp_path / name).write_text(text)
    (tmp_path / "h").write_text("")
    same = found_in(tmp_path)
    assert (same.groups, same.spare_files, same.spare_bytes, same.leaking_groups) == (2, 3, 4 + 4 + 3, 0)
    assert [[Path(each.path).name for each in group.examples] for group in same.examples] == [
        ["d", "e", "f"],
        ["a", "b"],
    ]


def test_none_where_none_are(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    (tmp_path / "b").write_text("two")
    assert found_in(tmp_path) == Duplicates()
    assert found_in(tmp_path, None) == Duplicates()


def test_what_is_in_train_and_test_comes_first(tmp_path: Path) -> None:
    for name in ("train/a", "train/b", "train/c", "test/a"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(("leak" if name.endswith("a") else "many") * 100)
    same = found_in(tmp_path, form="jpeg")
    assert (same.groups, same.leaking_groups) == (2, 1)
    assert same.examples[0].splits == ("test", "train")
    assert [Path(each.path).parent.name for each in same.examples[0].examples] == ["test", "train"]


@pytest.mark.parametrize(
    ("form", "count_bytes", "leaks"),
    [("jpeg", 5000, True), ("tfrecord", 256, True), ("png", 255, False), ("text", 5000, False), ("csv", 5000, False),
     ("json", 5000, False), (None, 5000, False)],
)  # fmt: skip
def test_text_and_a_few_bytes_are_no_leak(tmp_path: Path, form: str | None, count_bytes: int, leaks: bool) -> None:
    for name in ("train/a", "val/a"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"0" * count_bytes)
    same = found_in(tmp_path, form=form)
    assert (same.groups, same.leaking_groups, same.plain_groups) == (1, leaks, not leaks)
    assert same.examples[0].splits == ("train", "val"), "where it lies is told in any case"
    (finding,) = examine_files(Evidence(survey=Survey(2, 1, 2, duplicates=same)), "").findings
    assert finding.level is (Level.RISK if leaks else Level.NOTE)
    words = " ".join((finding.headline, *finding.remedy))
    assert ("keep one of each" in words) is leaks and ("lies in train and val" in words) is leaks
    assert ("leave text" in words) is not leaks


def test_a_file_that_is_gone_by_the_second_look_is_counted(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("one")
    state = State.passing(WANTED)
    files = list(find([str(tmp_path)], Aside()))
    state.claim(files)
    state.record(Checked(each.source.path, each.bytes, 1, "text", "m") for each in files)
    (tmp_path / "b").unlink()
    with Pool(WANTED, 1, job=DIGEST) as pool:
        same = duplicates(state, pool)
    assert (same.groups, same.spare_files, same.unread_files) == (1, 1, 1)


def test_parts_of_a_data_set_by_their_names() -> None:
    assert [split_of(each) for each in ("d/train/x", "d/Validation/x", "d/test-00001-of-2", "d/latest/x", "d/x")] == [
        "train",
        "val",
        "test",
        None,
        None,
    ]


def test_what_could_not_be_read_again_is_tried_anew(tmp_path: Path) -> None:
    state = State.passing(WANTED)
    data, away = tmp_path / "data", tmp_path / "away"
    data.mkdir()
    for name in ("a", "b"):
        (data / name).write_text("one")
    files = list(find([str(data)], Aside()))
    state.claim(files)
    state.record(Checked(each.source.path, each.bytes, 1, "text", "same") for each in files)
    told = []
    for before, after in ((data, away), (away, data)):
        before.rename(after)
        with Pool(WANTED, 1, job=DIGEST) as pool:
            told.append(duplicates(state, pool))
    assert [(each.groups, each.unread_files) for each in told] == [(0, 2), (1, 0)]
