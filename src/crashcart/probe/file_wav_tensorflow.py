"""Whether `tf.audio.decode_wav` reads a WAV file: the walk that it makes over the chunks, without TensorFlow.

Covers: PCM of 16 bits, which is all that it reads; the order of chunks; pads, which it does not skip. A test
compares with TensorFlow.
Does not cover: whether the file is sound (`file_audio.py`); many that are, are refused.
"""

from __future__ import annotations

import struct
from typing import Any

_BEFORE_FORMAT = frozenset({b"JUNK", b"bext", b"iXML", b"qlty", b"mext", b"levl", b"link", b"axml"})
_MOST_CHUNK_BYTES = (1 << 31) - 1
_MOST_CHUNKS = 10_000
_CODINGS = {
    2: "ADPCM",
    3: "floats",
    6: "A-law",
    7: "µ-law",
    0x11: "ADPCM",
    0x55: "MP3",
    0xFFFE: "of an extended header",
}


class _RefusedError(Exception):
    """Why it is refused."""


def refusal(file: Any, size_bytes: int) -> str | None:
    """Why `decode_wav` refuses the file; None where it reads it."""
    try:
        _Walk(file, size_bytes).walk()
    except _RefusedError as error:
        return str(error)
    return None


class _Walk:
    """The chunks as TensorFlow passes over them."""

    def __init__(self, file: Any, size_bytes: int) -> None:
        self._file, self._size_bytes, self._at = file, size_bytes, 0
        self._odd: str | None = None

    def walk(self) -> None:
        first = self._take(12)[:4]
        if first != b"RIFF":
            raise _RefusedError(f"it reads RIFF alone, not {first.decode('latin-1')}")
        frame_bytes, channels = self._format()
        found = 0
        for _ in range(_MOST_CHUNKS):
            if self._at >= self._size_bytes:
                break
            name, length = self._head()
            if length > _MOST_CHUNK_BYTES:
                raise _RefusedError(f"chunk {_spelt(name)} claims {length} bytes")
            if name == b"data":
                found += 1
                length = (
                    length // frame_bytes * channels * 2
                )  # whole frames: what is left of a chunk is taken for the next one
                self._need(length)
            self._pass(name, length)
        if found != 1:
            raise _RefusedError(self._lost("no data chunk") if not found else "more than one data chunk")

    def _format(self) -> tuple[int, int]:
        name, length = self._head()
        while name != b"fmt ":
            if name not in _BEFORE_FORMAT:
                raise _RefusedError(self._lost(f"chunk {_spelt(name)} before the format"))
            self._pass(name, length)
            name, length = self._head()
        if length not in (16, 18):
            raise _RefusedError(f"a format chunk of {length} bytes; it reads 16 and 18")
        coding, channels, rate, per_second, frame_bytes, bits = struct.unpack("<HHIIHH", self._take(length)[:16])
        if coding != 1:
            raise _RefusedError(f"it reads PCM alone, not {_CODINGS.get(coding, f'coding {coding:#06x}')}")
        if bits != 16:
            raise _RefusedError(f"it reads 16 bits alone, not {bits}")
        if not channels or frame_bytes != channels * 2 or per_second != rate * frame_bytes:
            raise _RefusedError(f"{per_second} bytes a second and {frame_bytes} a frame do not fit {rate} Hz")
        return frame_bytes, channels

    def _head(self) -> tuple[bytes, int]:
        head = self._take(8)
        return head[:4], int.from_bytes(head[4:], "little")

    def _pass(self, name: bytes, length: int) -> None:
        self._at += length
        if length % 2 and self._odd is None:
            self._odd = f"it does not skip the pad after chunk {_spelt(name)} of {length} bytes"

    def _take(self, count: int) -> bytes:
        self._need(count)
        self._file.seek(self._at)
        self._at += count
        return bytes(self._file.read(count))

    def _need(self, count: int) -> None:
        if self._at + count > self._size_bytes:
            raise _RefusedError(self._lost(f"{self._size_bytes - self._at} bytes after the last chunk"))

    def _lost(self, what: str) -> str:
        """With the reason, where a pad is likely to be the one."""
        return what if self._odd is None else f"{self._odd}, and finds {what}"


def _spelt(name: bytes) -> str:
    return repr(name.decode("latin-1"))
