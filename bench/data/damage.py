"""Damage to bytes as it happens: cut short, zeroed, overwritten, a flipped bit, something else under the name.

Covers: changes of a file's bytes, whatever its format, and those that mind its structure (PNG chunks, TFRecord frames).
Does not cover: which files get which (`damage_*.py`).
"""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable

Content = Callable[[int], bytes]

PAGE = b"<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head><body><h1>Not Found</h1></body></html>\n"
"""What a server gives with an error, saved as if it were the file."""


def cut(content: Content, fraction: float = 0.6) -> Content:
    """Only the first part of it, as an interrupted download or a full disk leaves it."""
    return lambda seed: (data := content(seed))[: int(len(data) * fraction)]


def shortened(content: Content, count_bytes: int) -> Content:
    """The last few bytes are missing."""
    return lambda seed: content(seed)[:-count_bytes]


def began(content: Content, count_bytes: int) -> Content:
    """Nothing but the first few bytes."""
    return lambda seed: content(seed)[:count_bytes]


def zero_tail(content: Content, fraction: float = 0.5) -> Content:
    """The size is right, but from some point on there are zeros, as after a crash of the machine."""

    def made(seed: int) -> bytes:
        data = content(seed)
        kept = int(len(data) * fraction)
        return data[:kept] + bytes(len(data) - kept)

    return made


def overwritten(content: Content, count_bytes: int = 64, start: float = 0.4, noise: bool = True) -> Content:
    """A stretch in the middle replaced, by noise or by zeros, as a bad sector does it."""

    def made(seed: int) -> bytes:
        data = bytearray(content(seed))
        at = int(len(data) * start)
        data[at : at + count_bytes] = random.Random(seed).randbytes(count_bytes) if noise else bytes(count_bytes)
        return bytes(data)

    return made


def flipped(content: Content, at: Callable[[bytes], int]) -> Content:
    """One bit turned, as bad memory does it."""

    def made(seed: int) -> bytes:
        data = bytearray(content(seed))
        data[at(bytes(data))] ^= 1 << seed % 8
        return bytes(data)

    return made


def middle(data: bytes) -> int:
    """The place in the middle."""
    return len(data) // 2


def after(mark: bytes, skip: int = 0) -> Callable[[bytes], int]:
    """The place behind the last of these marks."""
    return lambda data: data.rindex(mark) + len(mark) + skip


def png_remade(
    content: Content, change: Callable[[bytes, bytes], tuple[bytes, bytes] | None], check: bool = True
) -> Content:
    """Each chunk of a PNG changed or dropped; the checksums fit again, unless they are to be left as they were."""

    def made(seed: int) -> bytes:
        data = content(seed)
        out, at = [data[:8]], 8
        while at < len(data):
            length = struct.unpack(">I", data[at : at + 4])[0]
            name, body, crc = (
                data[at + 4 : at + 8],
                data[at + 8 : at + 8 + length],
                data[at + 8 + length : at + 12 + length],
            )
            at += 12 + length
            if (kept := change(name, body)) is not None:
                name, body = kept
                crc = struct.pack(">I", zlib.crc32(name + body)) if check else crc
                out += [struct.pack(">I", len(body)), name, body, crc]
        return b"".join(out)

    return made


def noise_in(wanted: bytes) -> Callable[[bytes, bytes], tuple[bytes, bytes]]:
    """Noise in the middle of the chunks of this name."""

    def change(name: bytes, body: bytes) -> tuple[bytes, bytes]:
        if name != wanted:
            return name, body
        half = len(body) // 2
        return name, body[:half] + random.Random(len(body)).randbytes(24) + body[half + 24 :]

    return change


def without(wanted: bytes) -> Callable[[bytes, bytes], tuple[bytes, bytes] | None]:
    """Those chunks are missing."""
    return lambda name, body: None if name == wanted else (name, body)
