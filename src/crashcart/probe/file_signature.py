"""Whether bytes without a name begin as a picture does: values of features in records.

Covers: JPEG, PNG, GIF, BMP and WebP, by more than the mark that is enough for a file. A feature may hold any bytes, and nobody
may be told that a key or a sentence is a broken picture.
Does not cover: files, which have a name as well (`file_magic.py`). `native_files/signature.c` is the same in C; a test compares
the two.
"""

from __future__ import annotations

_JPEG_MARKERS = frozenset({*range(0xC0, 0xD0), 0xDB, 0xDD, *range(0xE0, 0xF0), 0xFE})
_BMP_HEADERS = frozenset({40, 52, 56, 64, 108, 124})
_BMP_HEADER_BYTES, _GIF_HEADER_BYTES, _MOST_BMP_OFFSET = 30, 13, 1 << 12
_LEAST_OF_TEXT = 9
"""Bytes below are in no text; the numbers in the header of a GIF have some: a size, a colour or the shape of its pixels."""


def picture_format(data: bytes) -> str | None:
    """`jpeg`, `png`, `gif`, `bmp` or `webp`; None where it is none of them for certain."""
    if data.startswith(b"\xff\xd8\xff"):
        return "jpeg" if len(data) > 3 and data[3] in _JPEG_MARKERS else None
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if data.startswith((b"GIF87a", b"GIF89a")):
        header = data[6:_GIF_HEADER_BYTES]
        return "gif" if len(data) >= _GIF_HEADER_BYTES and min(header) < _LEAST_OF_TEXT else None
    if data.startswith(b"RIFF"):
        return "webp" if data[8:12] == b"WEBP" else None
    return "bmp" if data.startswith(b"BM") and _is_bmp(data) else None


def _is_bmp(data: bytes) -> bool:
    """Two letters say nothing: what is reserved must be zero, and one plane of pixels must follow a header of a known size."""
    return (
        len(data) >= _BMP_HEADER_BYTES
        and not any(data[6:10])
        and int.from_bytes(data[10:14], "little") <= _MOST_BMP_OFFSET
        and int.from_bytes(data[14:18], "little") in _BMP_HEADERS
        and data[26:28] == b"\1\0"
    )
