"""Compressed streams: gzip and zlib read to their end, and what they hold checked on the way.

Covers: several streams in one file, checksum and length at the end of each, a cut end, bytes that follow; records,
text, tables, JSON and tar archives inside (by the name without `.gz`, or by the first bytes) while they are read, so
of any size. Whatever else is inside is unpacked, in memory or into a temporary file, and checked as a file of its own.
Does not cover: bzip2, xz and zstandard outside of tar archives; gzip inside of gzip, and other formats beyond
`_MOST_UNPACKED_BYTES` (both told as not checked).
"""

from __future__ import annotations

import io
import itertools
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from crashcart.probe.file_archive import Check, check_tar_stream
from crashcart.probe.file_content import BLOCK_BYTES, HEAD_BYTES, MOST_WHOLE_BYTES, Content, Faults
from crashcart.probe.file_magic import TEXTS, by_bytes, by_name, looks_like_text
from crashcart.probe.file_text import check_text
from crashcart.probe.file_tfrecord import check_records, filler_of
from crashcart.sound import ODD, UNCHECKED, Wanted

_OF_A_CUT = frozenset({"truncated", "bad-json", "row-width", "no-content"})
_IN_MEMORY_BYTES = 16 << 20
_MOST_UNPACKED_BYTES = MOST_WHOLE_BYTES
"""What a check may hold of one file: a temporary folder may lie in memory."""
_GZIP, _ZLIB = 31, 15  # what zlib calls window bits; beyond 16 it reads the header and the checksum of gzip


def check_gzip(content: Content, faults: Faults, wanted: Wanted, check: Check) -> dict[str, Any]:
    """The whole stream, and what is inside."""
    name = content.path
    stem = next((name[: -len(end)] for end in (".gz", ".gzip") if name.lower().endswith(end)), name)
    promised = by_name(stem)
    # A name that still says gzip (`x.gz-00001-of-00010`) says nothing of what is inside.
    return _inside(_GZIP, promised, content, faults, wanted, check, "" if promised == "gzip" else stem)


def check_zlib_records(content: Content, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """Records in a zlib stream, as TensorFlow writes them on request."""
    return _inside(_ZLIB, "tfrecord", content, faults, wanted, None)


def _inside(
    kind: int,
    promised: str | None,
    content: Content,
    faults: Faults,
    wanted: Wanted,
    check: Check | None,
    name: str = "",
) -> dict[str, Any]:
    outer, inner = Faults(), Faults()
    stream = _Inflated(content.blocks(), outer, kind)
    blocks = iter(stream)
    first = next(blocks, b"")
    format = _streamed(first, promised)
    blocks = itertools.chain((first,), blocks)
    facts: dict[str, Any] = {"inside": format}
    if format is not None:
        facts |= _read(format, blocks, inner, wanted, check)
        facts["inside"] = facts.pop("format", format)
    elif check is not None and first:
        facts |= _unpacked(name, blocks, outer, inner, wanted, check)
    for _ in blocks:
        pass
    _tail(stream.follows, kind, format, outer)
    if not stream.count_bytes and not outer.any_damage:
        inner.add("no-content", "the stream holds nothing", weight=ODD)
    faults.take(outer.all())
    # The end of a stream that is broken is not also a fault of what is inside.
    faults.take(tuple(f for f in inner.all() if not (outer.any_damage and f.kind in _OF_A_CUT)))
    return {"compression": "gzip" if kind == _GZIP else "zlib", "inside_bytes": stream.count_bytes, **facts}


def _streamed(first: bytes, promised: str | None) -> str | None:
    """The format inside, where it is one that is checked while it is read."""
    found = by_bytes(first[:HEAD_BYTES])
    if found in ("tfrecord", "tar"):
        return found
    if promised in (*TEXTS, "tfrecord", "tar"):
        return promised
    return "text" if found is None and promised in (None, "gzip") and looks_like_text(first) else None


@dataclass(frozen=True)
class _Unpacked:
    """What was inside of a stream, as a source of its own."""

    path: str
    bytes: int
    file: BinaryIO
    local: None = None

    def size(self) -> int:
        return self.bytes

    def open(self) -> BinaryIO:
        self.file.seek(0)
        return self.file


def _unpacked(
    name: str, blocks: Iterator[bytes], outer: Faults, inner: Faults, wanted: Wanted, check: Check
) -> dict[str, Any]:
    """Unpack what is inside, and check it; nothing more is said of it where the stream around it is broken."""
    try:
        unpacked = _spooled(name, blocks)
    except _NoRoomError as error:
        inner.add("not-checked", f"what is inside: {error}", weight=UNCHECKED)
        return {}
    with unpacked.file:
        if outer.any_damage:
            return {}
        head = unpacked.open().read(2)
        if head == b"\x1f\x8b":
            inner.add("not-checked", "what is inside: gzip inside of gzip", weight=UNCHECKED)
            return {"inside": "gzip"}
        found = check(unpacked, replace(wanted, duplicates=False))
    inner.take(found.faults)
    return {**found.facts, "inside": found.format}


class _NoRoomError(Exception):
    """What is inside does not fit where it would be unpacked."""


def _spooled(name: str, blocks: Iterator[bytes]) -> _Unpacked:
    held: BinaryIO = io.BytesIO()
    count = 0
    try:
        for block in blocks:
            count += len(block)
            if count > _MOST_UNPACKED_BYTES:
                raise _NoRoomError(f"more than {_MOST_UNPACKED_BYTES} bytes")
            held = _written(held, block, count)
    except BaseException:
        held.close()
        raise
    return _Unpacked(name, count, held)


def _written(held: BinaryIO, block: bytes, count_bytes: int) -> BinaryIO:
    """With one more block; in a temporary file from some size on."""
    try:
        if count_bytes > _IN_MEMORY_BYTES and isinstance(held, io.BytesIO):
            file = tempfile.TemporaryFile()  # noqa: SIM115 (whoever checks it closes it)
            file.write(held.getbuffer())
            held = file
        held.write(block)
    except OSError as error:
        raise _NoRoomError(f"no room to unpack it ({error.strerror or error})") from None
    return held


def _tail(follows: tuple[int, int], kind: int, format: str | None, faults: Faults) -> None:
    """Bytes after the stream: zeros are padding, as tapes have it. TensorFlow takes them for another gzip stream, and fails."""
    count, not_padding = follows
    if kind == _GZIP and format == "tfrecord" and count > 1:
        faults.add("trailing-bytes", f"{count} bytes or more follow after the stream; TensorFlow fails on them")
    elif not_padding:
        faults.add("trailing-bytes", f"{not_padding} bytes or more follow after the stream", weight=ODD)


def _read(
    format: str | None, blocks: Iterator[bytes], faults: Faults, wanted: Wanted, check: Check | None
) -> dict[str, Any]:
    if format == "tfrecord":
        return check_records(filler_of(blocks), faults, wanted)
    if format in TEXTS:
        assert format is not None
        return check_text(format, blocks, faults, wanted)
    if format == "tar" and check is not None:
        return check_tar_stream(BlockFile(blocks), faults, wanted, check)
    return {}


class _Inflated:
    """The blocks of a compressed stream, decompressed; what is wrong is noted, and ends them."""

    def __init__(self, blocks: Iterator[bytes], faults: Faults, kind: int) -> None:
        self._blocks, self._faults, self._kind = blocks, faults, kind
        self.count_bytes = self._at = 0
        self.follows = (0, 0)
        """Bytes after the stream, and how many from the first that is not zero on; of the block where it ended."""

    def __iter__(self) -> Iterator[bytes]:
        inflater = zlib.decompressobj(self._kind)
        begun = True
        for block in self._blocks:
            data = block
            while data:
                if inflater.eof:
                    if not self._another(data):
                        return
                    inflater, begun = zlib.decompressobj(self._kind), True
                    data = data.lstrip(b"\0")
                    continue
                try:
                    out = inflater.decompress(data, BLOCK_BYTES)
                except zlib.error as error:
                    self._broken(error)
                    return
                data = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
                self.count_bytes += len(out)
                begun = not inflater.eof
                if out:
                    yield out
            self._at += len(block)
        if begun and not inflater.eof:
            self._faults.add("truncated", f"the compressed stream does not end by byte {self._at}", f"byte {self._at}")

    def _another(self, data: bytes) -> bool:
        """Whether a further stream follows."""
        rest = data.lstrip(b"\0")
        if rest.startswith(b"\x1f\x8b") and self._kind == _GZIP:
            return True
        self.follows = (len(data), len(rest))
        return False

    def _broken(self, error: zlib.error) -> None:
        words = str(error).rpartition(": ")[2]
        kind = (
            "crc-mismatch" if "check" in words and "incorrect" in words and "header" not in words else "not-decodable"
        )
        self._faults.add(kind, f"the compressed stream: {words}", f"byte {self._at}")


class BlockFile(io.RawIOBase):
    """Blocks as a file that is read forwards."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._fill: Callable[[memoryview], int] = filler_of(blocks)

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Some of the bytes."""
        with memoryview(buffer) as view, view.cast("B") as flat:
            return self._fill(flat)
