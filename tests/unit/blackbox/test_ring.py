"""The ring keeps the newest records, and every cut or damage costs only the records it touches."""

from __future__ import annotations

import json
import os
import random
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashcart.blackbox.ring import ForeignFileError, Ring, encode, read_payloads


def numbers(content: bytes) -> list[int]:
    return [json.loads(payload)["n"] for payload in read_payloads(content)]


def written(tmp_path: Path, count: int, ring_bytes: int = 4096, pad: int = 20) -> bytes:
    ring = Ring(str(tmp_path / "a.ring"), ring_bytes)
    for number in range(count):
        assert ring.append({"n": number, "pad": "x" * (number % pad)})
    ring.close()
    return (tmp_path / "a.ring").read_bytes()


def test_what_was_appended_comes_back_in_order(tmp_path: Path) -> None:
    assert numbers(written(tmp_path, 10)) == list(range(10))


def test_a_full_ring_keeps_the_newest_without_a_gap(tmp_path: Path) -> None:
    kept = numbers(written(tmp_path, 1000))
    assert kept == list(range(kept[0], 1000))
    assert len(kept) > 40


def test_the_file_belongs_to_its_owner_alone_and_has_its_blocks(tmp_path: Path) -> None:
    written(tmp_path, 1)
    status = (tmp_path / "a.ring").stat()
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert status.st_blocks * 512 >= status.st_size


def test_a_record_that_is_too_large_is_dropped_and_the_ring_goes_on(tmp_path: Path) -> None:
    ring = Ring(str(tmp_path / "a.ring"), 4096)
    assert ring.append({"n": 1})
    assert not ring.append({"n": 2, "pad": "x" * 4000})
    assert ring.append({"n": 3})
    assert numbers((tmp_path / "a.ring").read_bytes()) == [1, 3]


def test_a_write_under_way_drops_the_one_that_interrupts_it(tmp_path: Path) -> None:
    ring = Ring(str(tmp_path / "a.ring"), 4096)
    ring._busy = True
    assert not ring.append({"n": 1})


@pytest.mark.parametrize("seed", range(5))
def test_any_cut_leaves_the_records_before_it(tmp_path: Path, seed: int) -> None:
    content = written(tmp_path, 30)
    cut = random.Random(seed).randrange(64, len(content))
    assert numbers(content[:cut]) == list(range(len(numbers(content[:cut]))))


def test_a_torn_record_costs_itself_alone(tmp_path: Path) -> None:
    content = bytearray(written(tmp_path, 10))
    position = content.find(b'{"n":4')
    content[position + 3] ^= 0xFF
    assert numbers(bytes(content)) == [0, 1, 2, 3, 5, 6, 7, 8, 9]


def test_a_foreign_file_and_a_newer_version_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ForeignFileError, match="not a crashcart ring"):
        read_payloads(os.urandom(5000))
    content = bytearray(written(tmp_path, 1))
    content[8] = 99
    with pytest.raises(ForeignFileError, match="version 99"):
        read_payloads(bytes(content))


@given(st.binary(max_size=2000))
def test_garbage_in_the_ring_is_never_a_record(garbage: bytes) -> None:
    header = b"CCBLKBOX" + (1).to_bytes(4, "little") + (64).to_bytes(4, "little") + bytes(48)
    assert read_payloads(header + garbage) == []


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(plain)
def test_the_small_encoder_writes_the_same_values_as_json(value: object) -> None:
    assert json.loads(encode(value)) == value


def test_what_json_cannot_hold_becomes_text_or_null() -> None:
    assert json.loads(encode([float("nan"), float("inf"), {1}, object])) == [None, None, [1], str(object)]
    assert json.loads(encode("\ud800")) == "\ud800"
