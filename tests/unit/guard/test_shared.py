"""The shared file: words where the airbag expects them, refusals and requests read back."""

from __future__ import annotations

import importlib
import os
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from crashcart.guard.file import FILE_NAME
from crashcart.guard.inside import _crashcart_guard as inside
from crashcart.guard.inside._crashcart_words import facts_of
from crashcart.guard.shared import FILE_BYTES, MAGIC, NO_LIMIT, Shared, read_processes


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Shared]:
    memory = tmp_path / "memory"
    memory.mkdir()
    made = Shared(tmp_path, "/var/tmp", 5000, 600, memory)
    yield made
    if (tmp_path / FILE_NAME).exists():
        made.close()


def content(folder: Path) -> bytes:
    return (folder / FILE_NAME).read_bytes()


def test_the_layout_is_the_airbags(shared: Shared, tmp_path: Path) -> None:
    raw = content(tmp_path)
    assert len(raw) == FILE_BYTES and raw[:8] == MAGIC
    assert struct.unpack_from("<II", raw, 8) == (2, 1)
    assert struct.unpack_from("<q", raw, 16) == (NO_LIMIT,)
    assert struct.unpack_from("<QQ", raw, 40) == (5000, 600)
    assert raw[4096:].split(b"\0")[0] == b"/var/tmp"
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o600


def test_the_budget_leaves_out_what_was_given_out_since(shared: Shared, tmp_path: Path) -> None:
    handle = os.open(tmp_path / FILE_NAME, os.O_RDWR)
    os.pwrite(handle, struct.pack("<I", 1), 60)
    os.pwrite(handle, struct.pack("<q", 300), 32768 + 16)
    os.close(handle)
    before_ns = time.monotonic_ns()
    shared.set_left(1000, net_bytes_then=100)
    assert struct.unpack_from("<q", content(tmp_path), 16) == (800,)
    assert struct.unpack_from("<q", content(tmp_path), 24)[0] >= before_ns


def test_refusals_are_read_in_order(shared: Shared, tmp_path: Path) -> None:
    handle = os.open(tmp_path / FILE_NAME, os.O_RDWR)
    for number in (17, 2):
        record = struct.pack("<Qqqqii24s", number, number * 10, 5, 7, 11, 12, b"libx.so")
        os.pwrite(handle, record, 96 + 64 * ((number - 1) % 16))
    os.close(handle)
    assert [(each.number, each.size_bytes, each.who) for each in shared.refusals()] == [
        (2, 20, "libx.so"),
        (17, 170, "libx.so"),
    ]


def test_at_the_end_it_is_off(shared: Shared, tmp_path: Path) -> None:
    shared.squeeze(True)
    with (tmp_path / FILE_NAME).open("rb") as file:  # as a process has it that lives on
        shared.close()
        raw = file.read()
    assert (struct.unpack_from("<I", raw, 12), struct.unpack_from("<I", raw, 32)) == ((0,), (0,))
    assert not (tmp_path / FILE_NAME).is_symlink() and not list((tmp_path / "memory").iterdir())


@pytest.mark.parametrize("damage", [b"", b"something else", MAGIC])
def test_a_foreign_file_has_no_processes(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(damage)
    assert read_processes(tmp_path / FILE_NAME) == ()
    assert read_processes(tmp_path / "nowhere") == ()


@pytest.fixture
def listening(shared: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard's module inside, here, beside the file."""
    parts = inside.__package__
    monkeypatch.setattr(inside, "shared_file", str(tmp_path / FILE_NAME))
    monkeypatch.setattr(inside, "_part", lambda name: importlib.import_module(f"{parts}._crashcart_{name}"))
    monkeypatch.setattr(inside, "_answered", 0)


def ask(shared: Shared, number: int, raised_count: int) -> MemoryError | None:
    figures = {"used_bytes": 9, "limit_bytes": 9, "source": "container limit", "raised_count": raised_count}
    shared.write_request(number, {"pid": os.getpid(), "ask": "raise", **figures})
    return inside._answer(sys._getframe())


@pytest.mark.usefixtures("listening")
def test_a_request_from_before_the_last_exception_is_not_followed(shared: Shared) -> None:
    assert isinstance(ask(shared, 1, 0), MemoryError) and shared.raised_count == 1
    assert ask(shared, 2, 0) is None, "the program was told while the guard was about to ask"
    assert (shared.seen_request, shared.raised_count) == (2, 1)
    assert isinstance(ask(shared, 3, 1), MemoryError)


@pytest.mark.usefixtures("listening")
def test_a_request_is_read_back_by_the_process_it_is_for(shared: Shared) -> None:
    assert inside._request() is None
    for number in range(1, 19):
        pid = os.getpid() if number % 3 == 0 else 1
        shared.write_request(number, {"pid": pid, "ask": "raise", "source": "container limit"})
    last = inside._request()
    assert last is not None and (last["number"], last["source"]) == (18, "container limit")
    shared.write_request(19, {"pid": 1, "ask": "x" * 2000})
    assert inside._request() == last, "one that does not fit is read by nobody"


def test_facts_that_are_being_written_are_none() -> None:
    assert facts_of(b"number 2\npid 7\nend 2\n\0\0") == {"number": 2, "pid": 7, "end": 2}
    assert facts_of(b"number 3\npid 7\nend 2\n\0\0") == facts_of(b"number 3\npi") == facts_of(bytes(9)) == {}
