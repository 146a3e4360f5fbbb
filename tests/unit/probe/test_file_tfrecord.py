from __future__ import annotations

import gzip
import json
import random
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from crashcart.probe import file_tfrecord
from crashcart.probe.file_crc import masked
from crashcart.probe.file_native import native
from crashcart.sound import Checked
from tests.unit.probe.made import checked, damages, example, flipped, kinds, records, sequence_example, some_records

PROGRAM = Path(__file__).with_name("tensorflow_says.py")


def slowly(monkeypatch: pytest.MonkeyPatch, data: bytes, **wanted: Any) -> Checked:
    with monkeypatch.context() as patch:
        patch.setattr(file_tfrecord, "native", lambda: None)
        return checked("a.tfrecord", data, **wanted)


def test_clean_records_have_no_fault_and_tell_their_features() -> None:
    found = checked("a.tfrecord", some_records(50))
    assert found.faults == ()
    assert found.facts["records"] == 50
    assert found.facts["payload"] == "Example"
    assert found.facts["features"] == {"image": ["bytes", 1, 1], "label": ["int64", 1, 1], "scale": ["float", 2, 2]}
    assert (found.facts["label"], found.facts["label_min"], found.facts["label_max"]) == ("label", 0, 9)


def test_records_are_known_by_content_under_any_name() -> None:
    data = some_records(3)
    assert checked("train-00000-of-00002", data).format == "tfrecord"
    assert checked("x.tfrecord-00000-of-00002", data).faults == ()
    assert kinds(checked("a.jpg", data), "damage") == {"wrong-extension"}


def test_compressed_records_are_read_to_the_end() -> None:
    data = some_records(50)
    for name, packed in (
        ("a.tfrecord.gz", gzip.compress(data)),
        ("a.tfrecord", gzip.compress(data)),
        ("b.tfrecord", zlib.compress(data)),
    ):
        found = checked(name, packed)
        assert found.faults == () and found.facts["records"] == 50
        assert checked(name, packed[: len(packed) // 2]).damaged
        assert checked(name, flipped(packed, len(packed) // 2, 3)).damaged


def test_each_kind_of_damage_is_named_with_its_record() -> None:
    data = some_records(10)
    first = 16 + struct.unpack_from("<Q", data)[0]
    cut = checked("a.tfrecord", data[:-5]).faults[0]
    assert (cut.kind, cut.where) == ("truncated", "record 9")
    wrong = checked("a.tfrecord", flipped(data, first + 30, 2)).faults[0]
    assert (wrong.kind, wrong.where) == ("crc-mismatch", "record 1")
    length = checked("a.tfrecord", flipped(data, first + 1, 2)).faults[0]
    assert (length.kind, length.where) == ("crc-mismatch", "record 1")
    assert "nothing after it" in length.detail
    zeros = checked("a.tfrecord", data + bytes(4096)).faults[0]
    assert (zeros.kind, zeros.where) == ("zero-filled", "record 10")


def test_damage_of_data_does_not_end_the_walk() -> None:
    payloads = [example(label=[n]) for n in range(5)]
    data = bytearray(records(payloads))
    size = 16 + len(payloads[0])
    data[14] ^= 1
    data[size + 14] ^= 1
    fault = checked("a.tfrecord", bytes(data)).faults[0]
    assert (fault.kind, fault.count, fault.where) == ("crc-mismatch", 2, "record 0")


def test_labels_outside_of_the_classes() -> None:
    data = records([example(label=[0]), example(label=[7]), example(label=[-1])])
    assert checked("a.tfrecord", data).faults == ()
    assert checked("a.tfrecord", records([example(label=[0])]), classes=1).faults == ()
    fault = checked("a.tfrecord", data, classes=7).faults[0]
    assert (fault.kind, fault.count, fault.where, fault.weight) == ("label-out-of-range", 2, "record 1", "damage")
    other = records([example(label=[0], kind=[9])])
    assert checked("a.tfrecord", other, classes=5).faults == ()
    assert kinds(checked("a.tfrecord", other, classes=5, label="kind")) == {"label-out-of-range"}


def test_values_that_are_not_finite_are_odd() -> None:
    data = records([example(x=[1.0]), example(x=[float("nan"), float("inf")])])
    fault = checked("a.tfrecord", data).faults[0]
    assert (fault.kind, fault.weight, fault.count, fault.where) == ("nan", "odd", 2, "record 1")


def test_a_feature_of_two_kinds_is_a_drift_and_one_that_is_missing_is_a_fact() -> None:
    mixed = checked("a.tfrecord", records([example(x=[1]), example(x=[1.0])]))
    assert kinds(mixed, "damage") == {"schema-drift"} and mixed.faults[0].where == "record 1"
    some = checked("a.tfrecord", records([example(x=[1], y=[2]), example(x=[1])]))
    assert some.faults == () and some.facts["features_in_some"] == {"y": 1}


def test_records_of_another_kind_are_no_fault_unless_they_are_the_exception() -> None:
    other = checked("a.tfrecord", records([b"hello world", b"\xff\xfe\xfd" * 9]))
    assert other.faults == () and "features" not in other.facts
    mixed = checked("a.tfrecord", records([example(x=[1]), b"hello world"]))
    assert kinds(mixed, "damage") == {"not-an-example"} and mixed.faults[0].where == "record 1"
    assert checked("a.tfrecord", records([b"", b""])).faults == ()


def test_sequence_examples() -> None:
    found = checked(
        "a.tfrecord", records([sequence_example({"id": [4]}, {"tokens": [[1], [2], [3]], "text": [[b"a"]]})])
    )
    assert found.faults == ()
    assert found.facts["payload"] == "SequenceExample"
    assert found.facts["features"] == {
        "id": ["int64", 1, 1],
        "text": ["bytes list", 1, 1],
        "tokens": ["int64 list", 3, 3],
    }


def test_a_file_of_no_records_is_odd() -> None:
    assert kinds(checked("a.tfrecord", gzip.compress(b""))) == {"no-content"}


def test_a_record_larger_than_the_buffer() -> None:
    data = records([example(x=[1]), example(image=[bytes(5_000_000)]), example(x=[2])])
    found = checked("a.tfrecord", data)
    assert found.faults == () and found.facts["records"] == 3
    assert checked("a.tfrecord", flipped(data, 3_000_000, 0)).faults[0].where == "record 1"


def test_both_walks_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    if native() is None:
        pytest.skip("the native library is not built")
    data = records(
        [example(label=[n % 4], image=[b"x" * n], scale=[0.5] * (n % 3), n=[n, -n]) for n in range(20)]
        + [sequence_example({"id": [1]}, {"t": [[1], [2, 3]]}), b"", b"neither"]
    )
    made = random.Random(1)
    for _, changed in [("clean", data), *damages(data, 15, 4)]:
        fast, slow = checked("a.tfrecord", changed, classes=3), slowly(monkeypatch, changed, classes=3)
        assert fast == slow
    for _ in range(300):
        payloads = [
            bytes(b ^ (made.random() < 0.02) * made.randrange(256) for b in example(a=[1, 2], b=[b"xy"], c=[1.5]))
            for _ in range(3)
        ]
        fast, slow = checked("a.tfrecord", records(payloads)), slowly(monkeypatch, records(payloads))
        assert fast == slow


def test_what_tensorflow_refuses_is_damage(tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    folder.mkdir()
    plain = some_records(40)
    held = {}
    for stem, data in (("plain", plain), ("packed.gz", gzip.compress(plain)), ("packed.zz", zlib.compress(plain))):
        (folder / f"{stem}.tfrecord").write_bytes(data)
        for number, (kind, changed) in enumerate(damages(data, 5, 9)):
            held[f"{number:03d}-{kind}-{stem}.tfrecord"] = changed
            (folder / f"{number:03d}-{kind}-{stem}.tfrecord").write_bytes(changed)
    answer = tmp_path / "said.json"
    subprocess.run([sys.executable, PROGRAM, folder, answer], check=True, capture_output=True, timeout=110)
    said = json.loads(answer.read_text())
    assert said["plain.tfrecord"] == said["packed.gz.tfrecord"] == said["packed.zz.tfrecord"] == 40
    missed = [name for name, data in held.items() if said[name] is None and not checked(name, data).damaged]
    assert missed == []
    assert sum(said[name] is None for name in held) > 80
    quiet = [name for name, data in held.items() if said[name] not in (None, 40) and not checked(name, data).damaged]
    assert quiet == [], "TensorFlow ends early without a word"


def test_the_mask_is_that_of_the_format() -> None:
    # The first frame of a file that TensorFlow 2.21 wrote of the record b"abc".
    assert records([b"abc"]).hex() == "0300000000000000b099490e6162636e57f121"
    assert masked(b"") == 0xA282EAD8
