"""PNG files: every chunk with its checksum, and the whole compressed picture inflated, row by row.

Covers: order and checksums of chunks, header values, length of the pixel data, filters of all rows (interlaced, too),
animation. It agrees with TensorFlow's decoder (libpng) on what is refused: a wrong checksum of a chunk that may be left
out is only odd.
Does not cover: colours of the pixels; nothing that inflates to the right length with valid filters fails in a decoder.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from crashcart.probe.file_content import Faults
from crashcart.sound import ODD, UNCHECKED, Wanted

_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_MODES = {0: "L", 2: "RGB", 3: "P", 4: "LA", 6: "RGBA"}
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
# Start and step of the seven passes of an interlaced picture: x0, y0, dx, dy.
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
_INFLATE_BYTES = 1 << 20
_NOT_A_FILTER = bytes(range(5))


class _StopError(Exception):
    """Nothing after this can be read."""


class _Png:
    def __init__(self, faults: Faults, wanted: Wanted) -> None:
        self.faults, self.wanted = faults, wanted
        self.facts: dict[str, Any] = {}
        self.rows: _Rows | None = None
        self.palette = self.seen_data = self.data_ended = self.ended = False
        self.inflater = zlib.decompressobj()

    def stop(self, kind: str, detail: str, where: str | None = None) -> None:
        self.faults.add(kind, detail, where)
        raise _StopError

    def walk(self, data: bytes) -> None:
        at, view = 8, memoryview(data)
        while at < len(data) and not self.ended:
            if at + 12 > len(data):
                self.stop("truncated", f"the file ends inside of a chunk, at byte {len(data)}", f"byte {at}")
            length = int.from_bytes(view[at : at + 4], "big")
            kind = data[at + 4 : at + 8]
            if length > 0x7FFFFFFF or not kind.isalpha():
                self.stop("not-decodable", f"no chunk begins here: length {length}, type {kind!r}", f"byte {at}")
            if at + 12 + length > len(data):
                self._cut(kind, view[at + 8 :], at, length)
            self._sum(kind, view[at + 4 : at + 8 + length], view[at + 8 + length : at + 12 + length], at)
            self._chunk(kind, view[at + 8 : at + 8 + length], at)
            at += 12 + length
        if not self.ended:
            self.stop("truncated", "no IEND chunk at the end", f"byte {at}")
        if len(data) > at:
            self.faults.add("trailing-bytes", f"{len(data) - at} bytes follow after the IEND chunk", f"byte {at}", ODD)

    def _cut(self, kind: bytes, rest: memoryview, at: int, length: int) -> None:
        missing = length + 4 - len(rest)
        self.stop("truncated", f"{missing} bytes of chunk {kind.decode('ascii')} are missing", f"byte {at}")

    def _sum(self, kind: bytes, protected: memoryview, stored: memoryview, at: int) -> None:
        if zlib.crc32(protected) == int.from_bytes(stored, "big"):
            return
        critical = kind[0] < 0x60
        detail = f"the checksum of chunk {kind.decode('ascii')} is wrong"
        if critical:
            self.stop("crc-mismatch", detail, f"byte {at}")
        self.faults.add("crc-mismatch", f"{detail}; TensorFlow passes over such a chunk", f"byte {at}", ODD)

    def _chunk(self, kind: bytes, content: memoryview, at: int) -> None:
        if self.rows is None and kind != b"IHDR":
            self.stop("not-decodable", f"the first chunk is {kind!r}, not IHDR", f"byte {at}")
        if kind == b"IDAT":
            self._data(content, at)
            return
        self.data_ended = self.seen_data
        if kind == b"IHDR":
            self._header(bytes(content), at)
        elif kind == b"IEND":
            self._end(at)
        elif kind == b"PLTE":
            self.palette = True
        elif kind == b"acTL":
            self.facts["frames"] = int.from_bytes(content[:4], "big")
        elif kind[0] < 0x60:
            self.stop("not-decodable", f"unknown chunk {kind!r} that a decoder must know", f"byte {at}")

    def _header(self, content: bytes, at: int) -> None:
        if self.rows is not None or len(content) != 13:
            self.stop("not-decodable", "a second IHDR chunk, or one of a wrong length", f"byte {at}")
        width, height = int.from_bytes(content[:4], "big"), int.from_bytes(content[4:8], "big")
        depth, colour, compression, filters, interlace = content[8:]
        if not (0 < width < 2**31 and 0 < height < 2**31) or depth not in _DEPTHS.get(colour, ()):
            self.stop("not-decodable", f"header: {width} x {height}, depth {depth}, colour type {colour}", f"byte {at}")
        if compression or filters or interlace > 1:
            self.stop(
                "not-decodable", f"header: methods {compression}, {filters}, {interlace} are unknown", f"byte {at}"
            )
        self.facts.update(
            width=width,
            height=height,
            channels=_CHANNELS[colour],
            mode=_MODES[colour],
            depth=depth,
            interlaced=bool(interlace),
        )
        self.rows = _Rows(width, height, depth * _CHANNELS[colour], bool(interlace))
        if width * height > self.wanted.most_pixels:
            detail = f"{width} x {height} pixels; at most {self.wanted.most_pixels} are decoded"
            self.faults.add("too-large", detail, weight=UNCHECKED)
            raise _StopError
        if depth == 16:
            self.faults.add("odd-mode", "16 bits per channel; decode_image gives 8 unless dtype=uint16", weight=ODD)

    def _data(self, content: memoryview, at: int) -> None:
        assert self.rows is not None
        if self.data_ended:
            self.stop("not-decodable", "IDAT chunks are not in one row", f"byte {at}")
        if not self.seen_data and self.facts["mode"] == "P" and not self.palette:
            self.stop("not-decodable", "a palette is needed, and there is none", f"byte {at}")
        self.seen_data = True
        if self.wanted.quick or self.inflater.eof:
            return
        try:
            block: bytes | memoryview = content
            while block and not self.inflater.eof:
                self.rows.take(self.inflater.decompress(block, _INFLATE_BYTES))
                block = self.inflater.unconsumed_tail
        except zlib.error as error:
            self._broken(f"the compressed data is broken: {error}", at)
        except _BadFilterError as error:
            self.stop("not-decodable", str(error), f"byte {at}")

    def _broken(self, detail: str, at: int) -> None:
        """Decoders only look at what they need: broken data after the last row is not met by them."""
        assert self.rows is not None
        if self.rows.missing_bytes:
            self.stop("not-decodable", detail, f"byte {at}")
        self.faults.add("recovered", f"{detail}, after the last row", f"byte {at}", ODD)
        self.inflater = _Ended()  # type: ignore[assignment]

    def _end(self, at: int) -> None:
        self.ended = True
        if not self.seen_data:
            self.stop("not-decodable", "no IDAT chunk: no pixels", f"byte {at}")
        assert self.rows is not None
        if not self.wanted.quick and self.rows.missing_bytes:
            self.stop("truncated", f"{self.rows.missing_bytes} bytes of pixels are missing", f"byte {at}")


class _Ended:
    """Stands for a stream from which nothing more is taken."""

    eof = True


class _BadFilterError(Exception):
    """A row with a filter that there is not."""


class _Rows:
    """Counts the inflated bytes, and looks at the filter of each row."""

    def __init__(self, width: int, height: int, pixel_bits: int, interlaced: bool) -> None:
        self._parts = list(_parts(width, height, pixel_bits, interlaced))
        self.missing_bytes = sum(stride * rows for stride, rows in self._parts)
        self._at = 0
        self._row = 0

    def take(self, block: bytes) -> None:
        """One more block of inflated bytes; what exceeds the picture is ignored, as decoders do."""
        block = block[: self.missing_bytes]
        self.missing_bytes -= len(block)
        start = 0
        while start < len(block):
            stride, rows = self._parts[0]
            end = min(len(block), start + stride * rows - self._at)
            filters = block[start + (-self._at) % stride : end : stride]
            if filters.translate(None, _NOT_A_FILTER):
                bad = next(place for place, value in enumerate(filters) if value > 4)
                raise _BadFilterError(f"row {self._row + bad} has the filter {filters[bad]}, which there is not")
            self._row += len(filters)
            self._at += end - start
            if self._at == stride * rows:
                self._parts.pop(0)
                self._at = 0
            start = end


def _parts(width: int, height: int, pixel_bits: int, interlaced: bool) -> Iterator[tuple[int, int]]:
    """Bytes of a row with its filter, and the number of such rows; for each pass."""
    for x0, y0, dx, dy in _PASSES if interlaced else ((0, 0, 1, 1),):
        columns, rows = max(0, width - x0 + dx - 1) // dx, max(0, height - y0 + dy - 1) // dy
        if columns and rows:
            yield 1 + (columns * pixel_bits + 7) // 8, rows


def check_png(data: bytes, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """Width, height and colours; whether all of it can be read."""
    png = _Png(faults, wanted)
    with suppress(_StopError):
        png.walk(data)
    return png.facts
