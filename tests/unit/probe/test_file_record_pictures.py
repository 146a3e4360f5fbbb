"""Pictures inside of records: checked like files, and no other bytes taken for them."""

from __future__ import annotations

import random
import struct
import subprocess
import sys
from typing import Any

import pytest

from crashcart.probe import file_record_pictures, file_tfrecord
from crashcart.probe.file_native import Native, Walk, native
from crashcart.probe.file_signature import picture_format
from crashcart.probe.native_files import library
from crashcart.sound import Checked
from tests.unit.probe.made import (
    checked,
    damages,
    example,
    jpegs,
    kinds,
    picture,
    pngs,
    records,
    saved,
    sequence_example,
)

JPEG, PNG = jpegs()["baseline.jpg"], pngs()["RGB.png"]
PICTURES = {
    **jpegs(),
    **pngs(),
    "a.gif": saved(picture().convert("P"), "GIF"),
    "a.bmp": saved(picture(), "BMP"),
    "a.webp": saved(picture(), "WEBP"),
}
OTHERS = {
    "a sentence on BMW": b"BMW, and how the company began to build cars in 1928",
    "a sentence on GIF": b"GIF89a is the version of the format that has animations",
    "a sentence on RIFF": b"RIFF is a frame for other formats, such as WEBP",
    "the start of a JPEG alone": b"\xff\xd8\xff",
    "the start of a JPEG, and no marker": b"\xff\xd8\xff\x01" + bytes(range(100)),
    "BM and random bytes": b"BM" + random.Random(1).randbytes(100),
    "BM and zeros": b"BM" + bytes(100),
    "random bytes": random.Random(2).randbytes(100),
    "nothing": b"",
}


def of_values(*values: bytes, **wanted: Any) -> Checked:
    return checked("a.tfrecord", records([example(image=[each], label=[1]) for each in values]), **wanted)


def test_garbage_that_begins_as_a_picture_is_damage() -> None:
    found = of_values(*[b"\xff\xd8\xff\xe0garbage"] * 5)
    (fault,) = found.faults
    assert (fault.weight, fault.count) == ("damage", 5) and not found.good
    assert fault.where is not None and fault.where.startswith("record 0, feature 'image'")


@pytest.mark.parametrize("name", PICTURES)
def test_a_whole_picture_is_no_fault_and_half_of_it_is_damage(name: str) -> None:
    data = PICTURES[name]
    found = of_values(data, data)
    assert kinds(found) == kinds(checked(name, data)) and not found.damaged
    assert found.facts["pictures"] == {"image": 2}
    half = of_values(data, data[: len(data) // 2])
    assert half.damaged and half.faults[0].where is not None
    assert half.faults[0].where.startswith("record 1, feature 'image'")
    assert of_values(data[: len(data) // 2], quick=True).faults == (), "a quick check does not look into records"


@pytest.mark.parametrize("name", OTHERS)
def test_bytes_that_are_no_picture_are_left_alone(name: str) -> None:
    assert picture_format(OTHERS[name]) is None
    found = of_values(*[OTHERS[name]] * 3)
    assert found.faults == () and "pictures" not in found.facts


def test_what_looks_like_a_picture_among_other_bytes_is_never_damage() -> None:
    keys = [random.Random(seed).randbytes(32) for seed in range(9)]
    found = of_values(*keys, b"\xff\xd8\xff\xe0" + bytes(28))
    assert found.good and kinds(found, "odd")


def test_a_few_values_among_pictures_that_are_none_are_odd() -> None:
    found = of_values(*[JPEG] * 10, b"<html>not found</html>", b"", JPEG)
    assert found.good and [(fault.kind, fault.where, fault.count) for fault in found.faults] == [
        ("schema-drift", "record 10", 1)
    ]
    assert of_values(*[JPEG] * 4, b"raw", b"raw").faults == (), "so many are meant"


def test_frames_of_sequences_and_several_values_of_a_feature() -> None:
    cut = JPEG[:900]
    film = checked("a.tfrecord", records([sequence_example({"id": [1]}, {"frames": [[JPEG], [cut], [PNG, cut]]})]))
    assert film.faults[0].count == 2 and film.facts["pictures"] == {"frames": 4}
    assert of_values(JPEG).good


def test_both_walks_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    if native() is None:
        pytest.skip("the native library is not built")
    made = random.Random(3)
    values = [*PICTURES.values(), *OTHERS.values()]
    values += [data for whole in (JPEG, PNG, PICTURES["a.bmp"]) for _, data in damages(whole, 2, 7)]
    values += [each[:30] + made.randbytes(10) for each in PICTURES.values()] + [each[:5] for each in PICTURES.values()]
    values += [
        bytes(byte ^ (made.random() < 0.1) * made.randrange(256) for byte in each[:40])
        for each in (*PICTURES.values(), b"BM" + struct.pack("<IIIIiiHH", 99, 0, 54, 40, 5, 5, 1, 24) + bytes(20))
        for _ in range(20)
    ]
    for value in values:
        data = records([example(image=[value, b"x"]), example(image=[value])])
        fast = checked("a.tfrecord", data)
        with monkeypatch.context() as patch:
            patch.setattr(file_tfrecord, "native", lambda: None)
            assert checked("a.tfrecord", data) == fast


def test_what_a_check_raises_comes_out_of_the_native_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> dict[str, object]:
        raise MemoryError("a large picture")

    monkeypatch.setattr(file_record_pictures, "check_picture", fails)
    with pytest.raises(MemoryError, match="a large picture"):
        of_values(PNG, PNG)

    def surprised(*_: object) -> dict[str, object]:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(file_record_pictures, "check_picture", surprised)
    assert kinds(of_values(PNG), "unchecked") == {"not-checked"}


def test_many_names_of_features_are_told_in_bounded_memory() -> None:
    cut = b"\xff\xd8\xff\xe0garbage"
    payloads = [example(**{f"image {number}": [cut]}) for number in range(400)]
    found = checked("a.tfrecord", records(payloads))
    assert found.damaged and sum(fault.count for fault in found.faults if fault.kind == "truncated") == 400


def test_a_library_of_another_build_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    path = library()
    if path is None:
        pytest.skip("the native library is not built")
    program = (
        "import ctypes, crashcart.probe.file_native as each\n"
        "each.Walk = type('Walk', (ctypes.Structure,), {'_fields_': [('offset', ctypes.c_uint64)]})\n"
        "print(each.native())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "None", done.stderr
    assert Native(str(path)) is not None and Walk is not None
