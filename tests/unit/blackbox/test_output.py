"""The file of kept output: created whole, read tolerantly. What the library writes into it is in test_native.py."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashcart.blackbox.output import OutputTail, create_output, read_output

EMPTY = OutputTail(b"", b"", 0)


def put_bytes(path: Path, stream: int, written: bytes) -> None:
    """Append as the layout in recorder.h says, one byte at a time."""
    content = bytearray(path.read_bytes())
    offset, head, ring, position = struct.unpack_from("<QQQQ", content, 16 + 32 * stream)
    for number, byte in enumerate(written, position):
        content[offset + (number if number < head else head + (number - head) % ring)] = byte
    struct.pack_into("<Q", content, 16 + 32 * stream + 24, position + len(written))
    path.write_bytes(content)


def test_a_new_file_is_private_whole_and_empty(tmp_path: Path) -> None:
    create_output(tmp_path / "output")
    status = (tmp_path / "output").stat()
    assert oct(status.st_mode & 0o777) == "0o600"
    assert status.st_blocks * 512 >= 2 * (16384 + 65536), "its disk space is taken beforehand"
    assert read_output(tmp_path / "output") == (EMPTY, EMPTY)


def test_an_existing_file_is_never_taken_over(tmp_path: Path) -> None:
    (tmp_path / "output").write_text("somebody's")
    with pytest.raises(FileExistsError):
        create_output(tmp_path / "output")
    assert (tmp_path / "output").read_text() == "somebody's"


@pytest.mark.parametrize("sizes", [(-1, 10), (10, 0)])
def test_sizes_that_make_no_sense_are_refused(tmp_path: Path, sizes: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="expected a ring above 0"):
        create_output(tmp_path / "output", *sizes)
    assert not (tmp_path / "output").exists()


@given(
    written=st.tuples(st.binary(max_size=90), st.binary(max_size=90)),
    head_bytes=st.integers(0, 20),
    ring_bytes=st.integers(1, 20),
)
def test_head_and_tail_are_the_ends_of_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, written: tuple[bytes, bytes], head_bytes: int, ring_bytes: int
) -> None:
    path = tmp_path_factory.mktemp("recording") / "output"
    create_output(path, head_bytes, ring_bytes)
    for stream in (0, 1):
        put_bytes(path, stream, written[stream])
    streams = read_output(path)
    assert streams is not None
    for kept, said in zip(streams, written, strict=True):
        behind = said[head_bytes:]
        assert kept == OutputTail(said[:head_bytes], behind[-ring_bytes:], max(0, len(behind) - ring_bytes))


@pytest.mark.parametrize(
    "content",
    [b"", b"CCOUTPUT", b"X" * 200, b"CCOUTPUT" + struct.pack("<II", 2, 2) + bytes(64)],
    ids=["empty", "short", "foreign", "newer"],
)
def test_a_foreign_file_is_no_output(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "output").write_bytes(content)
    assert read_output(tmp_path / "output") is None


def test_no_file_is_no_output(tmp_path: Path) -> None:
    assert read_output(tmp_path / "output") is None
    assert read_output(tmp_path) is None


@given(at=st.integers(16, 79), byte=st.integers(0, 255), cut=st.integers(0, 4096 + 400))
def test_damage_never_raises(tmp_path_factory: pytest.TempPathFactory, at: int, byte: int, cut: int) -> None:
    path = tmp_path_factory.mktemp("recording") / "output"
    create_output(path, 50, 100)
    put_bytes(path, 1, os.urandom(300))
    content = bytearray(path.read_bytes())
    content[at] = byte
    path.write_bytes(content[:cut])
    streams = read_output(path)
    assert streams is None or all(len(each.head) <= 4096 and len(each.tail) <= 4096 for each in streams)
