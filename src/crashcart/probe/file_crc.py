"""CRC32C, as TFRecord files use it: by our own library, by google-crc32c, or slowly in Python.

Covers: any bytes-like object, continued sums, the mask that TFRecord puts over them.
Does not cover: the CRC32 of gzip, zip and PNG, which `zlib` has.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from crashcart.probe.file_native import native

_POLYNOMIAL = 0x82F63B78
_MASK = 0xA282EAD8


def crc32c(data: bytes, crc: int = 0) -> int:
    """The sum of some bytes, continuing an earlier one."""
    return _summer()(data, crc)


def crc32c_of_view(view: memoryview, crc: int = 0) -> int:
    """The same of a part of a buffer that can be written to, which is not copied where our own library is there."""
    library = native()
    return library.crc32c_of_view(view, crc) if library is not None else crc32c(bytes(view), crc)


def masked(data: bytes) -> int:
    """The sum as TFRecord stores it."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF


@cache
def _summer() -> Callable[[bytes, int], int]:
    library = native()
    if library is not None:
        return library.crc32c
    try:
        import google_crc32c
    except ImportError:
        return _slowly
    return lambda data, crc: int(google_crc32c.extend(crc, bytes(data)))


@cache
def _table() -> tuple[int, ...]:
    sums = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ _POLYNOMIAL if value & 1 else value >> 1
        sums.append(value)
    return tuple(sums)


def _slowly(data: bytes, crc: int) -> int:
    table = _table()
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF
