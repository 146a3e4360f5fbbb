"""Calls the native parts of the checks (`native_files/`): CRC32C, the walk over records, the walk over JPEG data.

Covers: the C types mirrored, loading the library once.
Does not cover: what to do without the library; each caller has a way in Python.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, byref, c_int, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from functools import cache

from crashcart.probe.native_files import library

MOST_FEATURES = 256
MOST_NAME_BYTES = 240
NONE_U64 = 2**64 - 1

DONE, MORE, BAD_LENGTH = 0, 1, 2


class Feature(Structure):
    """`struct feature` of files.h."""

    _fields_ = [
        ("name", c_uint8 * MOST_NAME_BYTES), ("name_bytes", c_uint32), ("kinds", c_uint32), ("records", c_uint64),
        ("last_record", c_uint64), ("least", c_uint64), ("most", c_uint64), ("low", c_int64), ("high", c_int64),
        ("not_finite", c_uint64), ("first_not_finite", c_uint64), ("outside", c_uint64), ("first_outside", c_uint64),
        ("first_other_kind", c_uint64), ("filled", c_uint64), ("pictures", c_uint64), ("first_plain", c_uint64),
    ]  # fmt: skip


PictureFound = ctypes.CFUNCTYPE(None, c_uint64, c_void_p, c_uint64, c_void_p, c_uint64)
"""Is given the number of a record, the bytes of a picture inside of it, and the name of its feature."""


class Walk(Structure):
    """`struct walk` of files.h."""

    _fields_ = [
        ("offset", c_uint64), ("wanted_bytes", c_uint64), ("records", c_uint64), ("data_bytes", c_uint64),
        ("least_bytes", c_uint64), ("most_bytes", c_uint64), ("empty", c_uint64), ("bad_data", c_uint64),
        ("first_bad_data", c_uint64), ("examples", c_uint64), ("sequences", c_uint64), ("others", c_uint64),
        ("first_other", c_uint64), ("classes", c_int64), ("parse", c_uint32), ("too_many", c_uint32),
        ("features_count", c_uint32), ("last_feature", c_uint32), ("dry", c_uint32), ("unused", c_uint32),
        ("found", PictureFound), ("features", Feature * MOST_FEATURES),
    ]  # fmt: skip


class Picture(Structure):
    """`struct picture` of files.h."""

    _fields_ = [
        ("width", c_uint32), ("height", c_uint32), ("components", c_uint32), ("precision", c_uint32), ("process", c_uint32),
        ("scans", c_uint32), ("adobe", c_uint32), ("multi", c_uint32), ("end", c_uint64), ("overrun", c_uint32),
        ("unused", c_uint32), ("zeros", c_uint64),
    ]  # fmt: skip


class File(Structure):
    """`struct file` of files.h."""

    _fields_ = [
        ("bytes", c_uint64), ("modified_ns", c_int64), ("crc", c_uint32), ("unused", c_uint32), ("picture", Picture),
    ]  # fmt: skip


class Native:
    """The loaded library."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self._crc = self._library.crashcart_crc32c
        self._crc.argtypes, self._crc.restype = [c_uint32, c_void_p, c_size_t], c_uint32
        self._crc_bytes = ctypes.CDLL(path).crashcart_crc32c
        self._crc_bytes.argtypes, self._crc_bytes.restype = [c_uint32, ctypes.c_char_p, c_size_t], c_uint32
        walk_bytes = self._library.crashcart_walk_bytes
        walk_bytes.restype = c_uint64
        if walk_bytes() != ctypes.sizeof(Walk):
            raise OSError("the library is of another build than this package")
        self._records = self._library.crashcart_records
        self._records.argtypes, self._records.restype = [c_void_p, c_size_t, POINTER(Walk)], c_int
        self._jpeg = self._library.crashcart_jpeg
        self._jpeg.argtypes, self._jpeg.restype = [ctypes.c_char_p, c_size_t, c_int, POINTER(Picture)], c_int
        self._jpeg_file = self._library.crashcart_jpeg_file
        self._jpeg_file.argtypes, self._jpeg_file.restype = [ctypes.c_char_p, c_int, c_int, POINTER(File)], c_int

    def crc32c(self, data: bytes, crc: int = 0) -> int:
        """CRC32C of some bytes, continuing an earlier one."""
        return int(self._crc_bytes(crc, data, len(data)))

    def crc32c_of_view(self, view: memoryview, crc: int = 0) -> int:
        """The same of a part of a buffer that can be written to, where it lies."""
        return int(self._crc(crc, ctypes.addressof(ctypes.c_char.from_buffer(view)), len(view))) if view else crc

    def records(self, address: int, count_bytes: int, walk: Walk) -> int:
        """Walk over the records of a buffer; DONE, MORE or BAD_LENGTH."""
        return int(self._records(address, count_bytes, byref(walk)))

    def jpeg(self, data: bytes, outline: bool = False) -> tuple[bool, Picture]:
        """Whether every symbol of the file is as it should be (its markers alone, for an outline); what its header says."""
        picture = Picture()
        return self._jpeg(data, len(data), outline, byref(picture)) == 0, picture

    def jpeg_file(self, path: bytes, outline: bool, total: bool) -> File | None:
        """The same of a small file by its name, with the sum over its bytes; None where it is not perfect, or cannot be read."""
        file = File()
        return file if self._jpeg_file(path, outline, total, byref(file)) == 0 else None


@cache
def native() -> Native | None:
    """The library, or None where it was not built or does not load."""
    path = library()
    if path is None:
        return None
    try:
        return Native(str(path))
    except (OSError, AttributeError):
        return None
