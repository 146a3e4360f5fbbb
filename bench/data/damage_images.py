"""Damaged images: JPEG, PNG, GIF, BMP, WebP.

Covers: what happens to them on the way, with the names that are right for it. Does not cover: other formats (`damage_others.py`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from bench.data.clean_images import pillow, turbo
from bench.data.damage import (
    PAGE,
    began,
    cut,
    flipped,
    middle,
    noise_in,
    overwritten,
    png_remade,
    shortened,
    without,
    zero_tail,
)  # fmt: skip
from bench.data.sample import Sample, damage, of_bytes

_JPEG, _PNG, _GIF, _BMP, _WEBP = turbo(quality=90), pillow("PNG"), pillow("GIF"), pillow("BMP"), pillow("WEBP")
_BROKEN = "not-decodable recovered truncated zero-filled crc-mismatch"
"""Damage in the middle: which of these words is used depends on where the decoder loses its way; all of them are right."""


def _size_of_a_jpeg(seed: int) -> bytes:
    """A height that the data does not have."""
    data = _JPEG(seed)
    at = data.index(b"\xff\xc0") + 5
    return data[:at] + struct.pack(">H", 4000) + data[at + 2 :]


def _wide_bmp(seed: int) -> bytes:
    data = _BMP(seed)
    return data[:18] + struct.pack("<i", 5000) + data[22:]


def _bytes(family: str) -> Callable[[str, str, str, Callable[[int], bytes]], Sample]:
    return lambda name, end, kinds, make: damage(family, name, end, kinds, of_bytes(make), images=True)


def samples() -> list[Sample]:
    """All of them."""
    jpeg, png, other = _bytes("JPEG"), _bytes("PNG"), _bytes("GIF, BMP, WebP")
    return [
        jpeg("JPEG cut short", ".jpg", "truncated", cut(_JPEG)),
        jpeg("JPEG cut in its last bytes", ".jpg", "truncated", shortened(_JPEG, 300)),
        jpeg("JPEG cut in its header", ".jpg", "truncated", began(_JPEG, 200)),
        jpeg("JPEG, progressive, cut short", ".jpg", "truncated", cut(pillow("JPEG", progressive=True))),
        jpeg("JPEG, zeros to the end", ".jpg", _BROKEN, zero_tail(_JPEG)),
        jpeg("JPEG, zeros in the middle", ".jpg", _BROKEN, overwritten(_JPEG, 2048, noise=False)),
        jpeg("JPEG overwritten", ".jpg", _BROKEN, overwritten(_JPEG, 512)),
        jpeg("JPEG, overwritten header", ".jpg", _BROKEN, overwritten(_JPEG, 64, 0.01)),
        jpeg("JPEG, height of another", ".jpg", "truncated not-decodable recovered", _size_of_a_jpeg),
        jpeg("Page of an error as JPEG", ".jpg", "wrong-extension", lambda seed: PAGE + bytes([65 + seed % 26])),
        jpeg("JPEG, empty", ".jpg", "zero-bytes", lambda seed: b""),
        png("PNG cut short", ".png", "truncated", cut(_PNG)),
        png("PNG without its end", ".png", "truncated", png_remade(_PNG, without(b"IEND"))),
        png("PNG, bit flipped", ".png", "crc-mismatch", flipped(_PNG, middle)),
        png("PNG, broken stream, right checksum", ".png", "not-decodable", png_remade(_PNG, noise_in(b"IDAT"))),
        png("PNG without its data", ".png", "not-decodable truncated", png_remade(_PNG, without(b"IDAT"))),
        png("PNG, zeros to the end", ".png", _BROKEN, zero_tail(_PNG)),
        png("WebP named PNG", ".png", "wrong-extension", _WEBP),
        other("GIF cut short", ".gif", "truncated", cut(_GIF)),
        other("GIF, zeros to the end", ".gif", _BROKEN, zero_tail(_GIF)),
        other("BMP cut short", ".bmp", "truncated", cut(_BMP)),
        other("BMP, width of another", ".bmp", "truncated not-decodable", _wide_bmp),
        other("WebP cut short", ".webp", "truncated", cut(_WEBP)),
        other("WebP, overwritten header", ".webp", _BROKEN, overwritten(_WEBP, 12, 0.005)),
        other("WebP, zeros to the end", ".webp", _BROKEN, zero_tail(pillow("WEBP", lossless=True))),
    ]
