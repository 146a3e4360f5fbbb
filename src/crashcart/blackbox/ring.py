"""A ring of records in a file: bounded, and readable after a SIGKILL at any byte.

Covers: creating a ring, appending records, reading back every whole record.
Does not cover: what the records mean (`recording.py`). Standard library only and free of crashcart imports, because the
start-up hook loads this very file inside programs whose environment does not have crashcart.

Layout (little endian). Header, 64 bytes: magic `CCBLKBOX`, u32 version, u32 header size, u64 ring size, u64 creation
time (unix ns), u32 pid of the writer, 28 bytes zero. Then the ring: records at multiples of 8, each u32 mark, u32
payload size, u32 CRC-32 of sequence number and payload, u32 zero, u64 sequence number, payload (UTF-8 JSON), padding to
8. A record never spans the end of the ring. The reader trusts no position: it looks for marks, believes only what the
CRC confirms, and orders by sequence number, so a torn record costs itself alone.

Records are written with pwrite into blocks that were allocated when the file was made: like a mapping, what was written
is the kernel's and outlives the process. A mapping would hold a descriptor of its own with a low number, which a daemon
that closes all descriptors frees for a file of its own, and which the end of the mapping would then close.
"""

from __future__ import annotations

import os
import struct
import time
from binascii import crc32

try:
    from _json import encode_basestring_ascii as _quote
except ImportError:  # not CPython
    from json.encoder import encode_basestring_ascii as _quote

MAGIC = b"CCBLKBOX"
VERSION = 1
HEADER_BYTES = 64

_HEADER = struct.Struct("<8sIIQQI28x")
_RECORD = struct.Struct("<IIIIQ")
_SEQUENCE = struct.Struct("<Q")
_MARK = 0xC7A5CA47
_MARK_BYTES = struct.pack("<I", _MARK)


class ForeignFileError(ValueError):
    """The file is no ring, or one of a version that this reader does not know."""


def encode(value: object) -> str:
    """JSON of plain values (no import of the json package: 3 ms that every watched interpreter would pay)."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return str(_quote(value))
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value)) if value - value == 0 else "null"
    if isinstance(value, dict):
        return "{" + ",".join(_quote(str(key)) + ":" + encode(item) for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple, set, frozenset)):
        return "[" + ",".join(encode(item) for item in value) + "]"
    return str(_quote(str(value)))


class Ring:
    """The writing side. One process writes; a forked child must make its own."""

    def __init__(self, path: str, ring_bytes: int, lowest_descriptor: int = 3) -> None:
        self.path = path
        self.pid = os.getpid()
        self._bytes = ring_bytes
        self._handle = _create(path, ring_bytes, lowest_descriptor)
        self._inode = os.fstat(self._handle).st_ino
        self._position = 0
        self._sequence = 0
        self._busy = False

    def append(self, record: dict[str, object]) -> bool:
        """Write a record; False when it was dropped (too large, or a write was under way when a signal came)."""
        return not self._busy and self.append_encoded(encode(record).encode("ascii"))

    def append_encoded(self, payload: bytes) -> bool:
        """The same with a record that is encoded already: for one that goes into several rings."""
        if self._busy:
            return False
        self._busy = True
        try:
            return self._write(payload)
        finally:
            self._busy = False

    def _write(self, payload: bytes) -> bool:
        needed = (_RECORD.size + len(payload) + 7) & ~7
        if needed > self._bytes // 2:
            return False
        if os.fstat(self._handle).st_ino != self._inode:
            return False
        if self._position + needed > self._bytes:
            os.pwrite(self._handle, bytes(self._bytes - self._position), HEADER_BYTES + self._position)
            self._position = 0
        self._sequence += 1
        check = crc32(payload, crc32(_SEQUENCE.pack(self._sequence)))
        record = _RECORD.pack(_MARK, len(payload), check, 0, self._sequence) + payload
        os.pwrite(self._handle, record, HEADER_BYTES + self._position)
        self._position += needed
        return True

    def close(self) -> None:
        """Give the descriptor back; what was written stays."""
        os.close(self._handle)


def _create(path: str, ring_bytes: int, lowest_descriptor: int) -> int:
    """Make the file whole before it gets its name, with its blocks allocated, and keep it open at a number that is free
    from `lowest_descriptor` on."""
    import fcntl

    scratch = f"{path}.new"
    handle = os.open(scratch, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(handle, 0, HEADER_BYTES + ring_bytes)
        os.pwrite(handle, _HEADER.pack(MAGIC, VERSION, HEADER_BYTES, ring_bytes, time.time_ns(), os.getpid()), 0)
        os.rename(scratch, path)
        return fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, lowest_descriptor)
    except BaseException:
        if os.path.exists(scratch):
            os.unlink(scratch)
        raise
    finally:
        os.close(handle)


def read_payloads(content: bytes) -> list[bytes]:
    """Every whole record of a ring file's content, in the order in which they were written."""
    if len(content) < HEADER_BYTES or content[:8] != MAGIC:
        raise ForeignFileError("not a crashcart ring")
    _, version, header_bytes, _, _, _ = _HEADER.unpack_from(content)
    if version != VERSION:
        raise ForeignFileError(f"ring version {version}; this crashcart reads version {VERSION}")
    found: list[tuple[int, bytes]] = []
    position = int(header_bytes)
    while (position := content.find(_MARK_BYTES, position)) >= 0:
        record = _record_at(content, position)
        if record is None:
            position += 4
            continue
        found.append(record)
        position += _RECORD.size + len(record[1])
    found.sort()
    return [payload for _, payload in found]


def _record_at(content: bytes, position: int) -> tuple[int, bytes] | None:
    if position + _RECORD.size > len(content):
        return None
    _, size, check, _, sequence = _RECORD.unpack_from(content, position)
    start = position + _RECORD.size
    if size > len(content) - start:
        return None
    payload = content[start : start + size]
    if crc32(payload, crc32(_SEQUENCE.pack(sequence))) != check:
        return None
    return sequence, payload
