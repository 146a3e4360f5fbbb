from __future__ import annotations

import gzip
import io
import zipfile

import numpy
import pytest

from tests.unit.probe.made import checked, damages, flipped, jpegs, kinds, some_records, table, tarred, zipped

MEMBERS = {
    "images/a.jpg": jpegs()["baseline.jpg"],
    "table.csv": table(),
    "r.tfrecord": some_records(5),
    "notes.md": b"some words\n",
}
ARCHIVES = {
    "a.zip": zipped(MEMBERS),
    "stored.zip": zipped(MEMBERS, zipfile.ZIP_STORED),
    "lzma.zip": zipped(MEMBERS, zipfile.ZIP_LZMA),
    "empty.zip": zipped({}),
    "a.tar": tarred(MEMBERS),
    "a.tar.gz": tarred(MEMBERS, "w:gz"),
    "a.tgz": tarred(MEMBERS, "w:gz"),
    "a.tar.bz2": tarred(MEMBERS, "w:bz2"),
    "a.tar.xz": tarred(MEMBERS, "w:xz"),
    "long.tar": tarred({"x" * 150 + "/" + "y" * 90 + ".txt": b"text\n"}),
    "nested.zip": zipped({"inner.zip": zipped(MEMBERS), "inner.tar": tarred(MEMBERS)}),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_clean_archives_have_no_fault(name: str) -> None:
    found = checked(name, ARCHIVES[name])
    assert found.faults == ()


def test_archives_tell_what_is_inside() -> None:
    for name in ("a.zip", "a.tar", "a.tar.gz"):
        assert checked(name, ARCHIVES[name]).facts["members"] == 4
        assert checked(name, ARCHIVES[name]).facts["formats"] == {"jpeg": 1, "csv": 1, "tfrecord": 1, "text": 1}


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.tar.xz"])
def test_archives_that_are_cut_are_damage(name: str) -> None:
    data = ARCHIVES[name]
    end = len(data) - (11_000 if name == "a.tar" else 5)
    for cut in range(600, end, max(1, end // 12)):
        assert checked(name, data[:cut]).damaged, cut


@pytest.mark.parametrize("name", ["a.tar.gz", "a.tar.bz2", "a.tar.xz"])
def test_compressed_archives_are_read_to_the_end_of_the_stream(name: str) -> None:
    for missing in (1, 4, 7):
        assert checked(name, ARCHIVES[name][:-missing]).damaged, missing


def test_a_damaged_member_is_named() -> None:
    half = {**MEMBERS, "images/a.jpg": MEMBERS["images/a.jpg"][:-500]}
    for name, data in (("a.zip", zipped(half)), ("a.tar", tarred(half)), ("a.tar.gz", tarred(half, "w:gz"))):
        fault = checked(name, data).faults[0]
        assert fault.kind == "truncated" and fault.where is not None and fault.where.startswith("member images/a.jpg")
    renamed = checked("a.zip", zipped({"a.png": MEMBERS["table.csv"]})).faults[0]
    assert (renamed.kind, renamed.where) == ("wrong-extension", "member a.png")


def test_checksums_of_members_are_looked_at_whatever_the_format() -> None:
    data = zipped({"notes.bin": bytes(range(1, 251)) * 40}, zipfile.ZIP_STORED)
    assert kinds(checked("a.zip", data), "damage") == set()
    fault = checked("a.zip", flipped(data, 5000, 1)).faults[0]
    assert (fault.kind, fault.where) == ("crc-mismatch", "member notes.bin")


def test_a_broken_header_is_not_taken_for_the_end_of_a_tar_archive() -> None:
    data = tarred({"a.txt": b"x\n", "b.txt": b"y\n"})
    assert kinds(checked("a.tar", flipped(data, 1024 + 3, 1)), "damage") == {"crc-mismatch"}
    unfinished = checked("a.tar", data[:2048])
    assert kinds(unfinished, "odd") == {"truncated"} and unfinished.good


def test_names_that_lead_elsewhere() -> None:
    for name, data in (("a.zip", zipped({"../x.txt": b"x"})), ("a.tar", tarred({"/etc/x.txt": b"x"}))):
        assert kinds(checked(name, data), "damage") == {"unsafe-name"}
    assert checked("a.zip", zipped({"a..b/x.txt": b"x"})).faults == ()


def test_doubled_and_encrypted_members() -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("a.txt", "x")
        with pytest.warns(UserWarning):
            archive.writestr("a.txt", "y")
    assert kinds(checked("a.zip", held.getvalue()), "odd") == {"duplicate-member"}
    data = bytearray(zipped({"a.txt": b"x"}))
    data[6] |= 1
    data[bytes(data).index(b"PK\x01\x02") + 8] |= 1
    found = checked("a.zip", bytes(data))
    assert kinds(found, "unchecked") == {"encrypted"} and not found.good


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz"])
def test_members_that_nobody_knows_are_unchecked(name: str) -> None:
    pack = zipped if name == "a.zip" else tarred
    members = {"a.txt": b"x\n", "notes.bin": bytes(range(256)) * 9}
    data = pack(members) if name != "a.tar.gz" else tarred(members, "w:gz")
    fault = checked(name, data).faults[0]
    assert (fault.kind, fault.where, fault.weight) == ("unknown-format", "member notes.bin", "unchecked")


def test_plain_gzip_of_anything_is_read_to_its_end() -> None:
    packed = gzip.compress(bytes(range(256)) * 50)
    assert kinds(checked("a.bin.gz", packed), "unchecked") == kinds(checked("a.bin.gz", packed)) == {"unknown-format"}
    assert kinds(checked("a.bin.gz", packed[:-5])) == {"truncated"}
    assert kinds(checked("a.bin.gz", flipped(packed, len(packed) - 6, 0))) == {"crc-mismatch"}


def npy(array: numpy.ndarray) -> bytes:
    held = io.BytesIO()
    numpy.save(held, array)
    return held.getvalue()


INSIDE = {
    "a.npy.gz": npy(numpy.arange(5000.0)),
    "large.npy.gz": npy(numpy.arange(3_000_000)),
    "a.jpg.gz": MEMBERS["images/a.jpg"],
    "a.zip.gz": ARCHIVES["a.zip"],
    "a.gz": MEMBERS["images/a.jpg"],
    "a.jpg.GZIP": MEMBERS["images/a.jpg"],
    "a.jpg.gz-00001-of-00010": MEMBERS["images/a.jpg"],
    "words.gz": b"some words\n",
    "words.gz-00001-of-00010": b"some words\n",
    "t.csv.gz": MEMBERS["table.csv"],
}


@pytest.mark.parametrize("name", INSIDE)
def test_what_is_inside_of_gzip_is_checked_as_a_file_of_its_own(name: str) -> None:
    found = checked(name, gzip.compress(INSIDE[name], 1), duplicates=True)
    assert found.faults == () and found.facts["inside_bytes"] == len(INSIDE[name])
    assert found.facts["inside"] is not None
    if found.facts["inside"] not in ("text", "csv"):
        assert checked(name, gzip.compress(INSIDE[name][:-700], 1)).damaged
    assert kinds(checked(name, gzip.compress(INSIDE[name], 1)[:-3])) == {"truncated"}


def test_what_is_inside_of_gzip_is_held_against_its_name() -> None:
    assert kinds(checked("a.npy.gz", gzip.compress(MEMBERS["images/a.jpg"])), "damage") == {"wrong-extension"}
    assert kinds(checked("a.npy.gz", gzip.compress(npy(numpy.array([numpy.nan])))), "odd") == {"nan"}


def test_what_is_not_unpacked_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    twice = checked("a.npy.gz.gz", gzip.compress(gzip.compress(INSIDE["a.npy.gz"])))
    assert kinds(twice) == kinds(twice, "unchecked") == {"not-checked"}
    monkeypatch.setattr("crashcart.probe.file_gzip._MOST_UNPACKED_BYTES", 10_000)
    large = checked("a.npy.gz", gzip.compress(INSIDE["a.npy.gz"]))
    assert kinds(large) == kinds(large, "unchecked") == {"not-checked"}
    assert large.facts["inside_bytes"] == len(INSIDE["a.npy.gz"])
    assert kinds(checked("a.npy.gz", gzip.compress(INSIDE["a.npy.gz"])[:-3]), "damage") == {"truncated"}


def test_no_damage_makes_the_check_itself_fail() -> None:
    for place, (name, data) in enumerate(ARCHIVES.items()):
        for kind, changed in damages(data, 6, place):
            for fault in checked(name, changed).faults:
                assert "the check failed" not in fault.detail, (name, kind, fault)
