"""Quick checks of JPEG files: every marker up to the end, in C and in Python; and the way of a small file in one call."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from crashcart.probe import file_jpeg
from crashcart.probe.file_check import check
from crashcart.probe.file_jpeg_outline import outline_end
from crashcart.probe.file_native import native
from crashcart.probe.file_source import LocalFile
from crashcart.sound import Checked, Wanted
from tests.unit.probe.made import checked, flipped, jpegs, kinds, picture, saved

JPEGS = jpegs()
WAYS = ["in C", "in Python"]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "in Python":
        monkeypatch.setattr(file_jpeg, "native", lambda: None)
    else:
        assert native() is not None
    return str(request.param)


def refuse(*arguments: Any) -> None:
    raise AssertionError("a quick check decodes nothing")


@pytest.mark.parametrize("name", JPEGS)
def test_a_clean_file_is_passed_by_its_markers_alone(name: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = checked(name, JPEGS[name])
    monkeypatch.setattr(file_jpeg, "_decode", refuse)
    quick = checked(name, JPEGS[name], quick=True)
    assert quick.faults == () and quick.facts == whole.facts


@pytest.mark.parametrize("name", JPEGS)
def test_a_file_that_is_cut_anywhere_is_damaged(name: str, way: str) -> None:
    data = JPEGS[name]
    for kept in random.Random(1).sample(range(12, len(data)), 12):
        found = checked(name, data[:kept], quick=True)
        assert found.damaged, kept
        assert kinds(found) == kinds(checked(name, data[:kept])), "in the same words as a whole check"


def test_a_segment_of_a_wrong_length_is_seen(way: str) -> None:
    data = JPEGS["baseline.jpg"]
    at = data.index(b"\xff\xdb") + 2
    assert checked("a.jpg", data[:at] + b"\x40\x00" + data[at + 2 :], quick=True).damaged


def test_restarts_have_to_come_in_their_order_and_number() -> None:
    data = JPEGS["restarts.jpg"]
    at = data.index(b"\xff\xd2")
    walker = native()
    assert walker is not None and walker.jpeg(data, outline=True)[0]
    assert not walker.jpeg(data[:at] + b"\xff\xd5" + data[at + 2 :], outline=True)[0]
    gone = data[:at] + data[data.index(b"\xff\xd3") :]
    assert not walker.jpeg(gone, outline=True)[0] and outline_end(gone) is None
    last = max(data.rindex(bytes((0xFF, 0xD0 + each))) for each in range(8))
    assert not walker.jpeg(data[:last] + data[-2:], outline=True)[0], "one is missing at the end"


@pytest.mark.parametrize("shift", range(18))
def test_a_marker_is_seen_wherever_it_lies(shift: int) -> None:
    """The walk takes sixteen bytes at a time: a marker may lie across two of them, and stuffed bytes may, too."""
    data = JPEGS["restarts.jpg"]
    moved = data[:2] + b"\xff\xfe" + (2 + shift).to_bytes(2, "big") + b"x" * shift + data[2:]
    walker = native()
    assert walker is not None and b"\xff\x00" in data
    sound, picture_ = walker.jpeg(moved, outline=True)
    assert sound and picture_.end == len(moved) == outline_end(moved)
    for left in range(1, 20):
        assert not walker.jpeg(moved[:-left], outline=True)[0], left
    at = data.index(b"\xff\x00", data.index(b"\xff\xda")) - len(data) + len(moved)
    assert not walker.jpeg(moved[: at + 1] + b"\x11" + moved[at + 2 :], outline=True)[0], "no longer stuffed"


def test_data_that_cannot_hold_so_many_blocks_is_seen() -> None:
    data = bytearray(JPEGS["lowest.jpg"])
    at = bytes(data).index(b"\xff\xc0")
    data[at + 5 : at + 9] = b"\x10\x00\x10\x00"
    assert checked("a.jpg", bytes(data), quick=True).damaged


def test_pixels_are_not_looked_at() -> None:
    """What a quick check cannot see, and a whole one does: that is what its report says."""
    data = JPEGS["highest.jpg"]
    start = data.index(b"\xff\xda") + 64
    seen = [
        flipped(data, at, 3) for at in range(start, len(data) - 64, 97) if data[at - 1] != 0xFF and data[at] ^ 8 != 0xFF
    ]
    missed = [each for each in seen if not checked("a.jpg", each, quick=True).damaged]
    assert any(checked("a.jpg", each).damaged for each in missed)


def test_bytes_after_the_end_are_told(way: str) -> None:
    found = checked("a.jpg", JPEGS["baseline.jpg"] + b"x" * 100, quick=True)
    assert kinds(found, "odd") == {"trailing-bytes"} and found.good


def test_zeros_in_the_data_are_looked_into(way: str) -> None:
    data = bytearray(saved(picture(400, 300), "JPEG", quality=90))
    half = len(data) // 2
    data[half : half + 2048] = bytes(2048)
    assert checked("a.jpg", bytes(data), quick=True).faults == checked("a.jpg", bytes(data)).faults != ()


def by_name(folder: Path, name: str, data: bytes, **wanted: Any) -> Checked:
    (folder / name).write_bytes(data)
    return check(LocalFile(str(folder / name)), Wanted(**wanted))


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", JPEGS)
def test_a_file_read_in_one_call_is_judged_as_any_other(
    tmp_path: Path, name: str, quick: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for data in (JPEGS[name], JPEGS[name][: len(JPEGS[name]) // 2], JPEGS[name] + b"more of it"):
        at_once = by_name(tmp_path, name, data, quick=quick, duplicates=True)
        with monkeypatch.context() as patch:
            patch.setattr("crashcart.probe.file_check.check_jpeg_file", lambda source, wanted: None)
            assert by_name(tmp_path, name, data, quick=quick, duplicates=True).to_json() | {"modified_ns": None} == (
                at_once.to_json() | {"modified_ns": None}
            )
        assert at_once.modified_ns is not None


def test_names_that_are_no_names_and_odd_pictures_go_the_long_way(tmp_path: Path) -> None:
    assert kinds(check(LocalFile("a\0.jpg"), Wanted())) == {"unreadable"}
    assert kinds(check(LocalFile("\ud800.jpg"), Wanted())) == {"unreadable"}
    assert kinds(check(LocalFile(str(tmp_path)), Wanted())) == {"not-a-file"}
    assert kinds(by_name(tmp_path, "a.jpg", saved(picture().convert("CMYK"), "JPEG"))) == {"odd-mode"}
    assert kinds(by_name(tmp_path, "b.jpg", saved(picture(40, 1), "JPEG"))) == {"odd-size"}
    assert kinds(by_name(tmp_path, "c.jpg", b"")) == {"zero-bytes"}
