"""Marks of content, for finding duplicates: a cheap one for every file, a full one for candidates.

Covers: CRC32C with the size (ten gigabytes a second, so it costs less than reading), summed up while a check reads the file where
it reads it from the beginning to the end; and BLAKE2b of 128 bits.
Does not cover: deciding what a duplicate is (`data/`).
"""

from __future__ import annotations

import hashlib

from crashcart.probe.file_content import BLOCK_BYTES
from crashcart.probe.file_crc import crc32c, crc32c_of_view
from crashcart.sound import Source


class Running:
    """A mark that is made while the bytes pass by, in their order."""

    def __init__(self) -> None:
        self._crc = self._count_bytes = 0

    def add(self, block: bytes | memoryview) -> None:
        """The next bytes; a view is one of a buffer that can be written to."""
        self._crc = crc32c_of_view(block, self._crc) if isinstance(block, memoryview) else crc32c(block, self._crc)
        self._count_bytes += len(block)

    def mark(self) -> str:
        """The mark of what has passed."""
        return mark_from(self._crc, self._count_bytes)


def mark(source: Source) -> str | None:
    """A cheap mark: equal content has an equal one, different content hardly ever. None where the file cannot be read."""
    crc = count = 0
    try:
        with source.open() as file:
            while block := file.read(BLOCK_BYTES):
                crc = crc32c(block, crc)
                count += len(block)
    except OSError:
        return None
    return mark_from(crc, count)


def mark_of(data: bytes) -> str:
    """The same of bytes that are in memory."""
    return mark_from(crc32c(data), len(data))


def mark_of_head(head: bytes, size_bytes: int) -> str:
    """A mark of a file elsewhere that was not read in its order: by its beginning and its size. Reading it again to sum it up
    would fetch it twice; `full` tells those apart that share this mark."""
    return f"crc32c-of-head:{size_bytes:x}:{crc32c(head):08x}"


def full(source: Source) -> str | None:
    """A digest that only equal content shares. None where the file cannot be read."""
    digest = hashlib.blake2b(digest_size=16)
    try:
        with source.open() as file:
            while block := file.read(BLOCK_BYTES):
                digest.update(block)
    except OSError:
        return None
    return f"blake2b:{digest.hexdigest()}"


def mark_from(crc: int, count_bytes: int) -> str:
    """The same from a sum and a size that are known."""
    return f"crc32c:{count_bytes:x}:{crc:08x}"
