"""BMP files: the header and the length of the pixel data, by the same arithmetic as TensorFlow's decoder.

Covers: headers of all usual versions, 1 to 32 bits per pixel, rows from the top and from the bottom; run-length coded
data by Pillow.
Does not cover: colours of the pixels: uncompressed rows hold no structure that could be broken.
"""

from __future__ import annotations

import struct
from typing import Any

from crashcart.probe.file_content import Faults
from crashcart.probe.file_webp import decode_with_pillow
from crashcart.sound import DAMAGE, ODD, UNCHECKED, Wanted

_HEAD = struct.Struct("<IHHI I ii HH I")  # from byte 2: file size … compression
_RUN_LENGTH = (1, 2)
_NAMED = {1: "run-length coded", 2: "run-length coded", 4: "JPEG inside", 5: "PNG inside"}
_MODES = {1: "P", 2: "P", 4: "P", 8: "P", 16: "RGB", 24: "RGB", 32: "RGBA"}


def check_bmp(data: bytes, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """Width, height and colours; whether all rows are there."""
    if len(data) < 34 or data[14] == 12:
        return _short(data, faults)
    _, _, _, offset, _, width, height, _, bits, compression = _HEAD.unpack_from(data, 2)
    rows = abs(height)
    facts = {
        "width": width,
        "height": rows,
        "channels": max(1, bits // 8),
        "mode": _MODES.get(bits, "?"),
        "depth": bits,
    }
    if width <= 0 or not rows or bits not in _MODES or compression > 6 or not 26 <= offset <= len(data):
        detail = (
            f"header: {width} x {height}, {bits} bits per pixel, compression {compression}, pixels at byte {offset}"
        )
        faults.add("not-decodable", detail, "byte 14")
        return facts
    if compression not in _NAMED:
        _length(data, faults, offset, width, rows, bits)
        _colours(data, faults, bits, offset)
    elif width * rows > wanted.most_pixels:
        faults.add("too-large", f"{width} x {rows} pixels; at most {wanted.most_pixels} are decoded", weight=UNCHECKED)
    else:
        faults.add("not-for-tensorflow", f"{_NAMED[compression]}: TensorFlow reads plain rows alone", weight=ODD)
        if compression in _RUN_LENGTH and not wanted.quick:
            decode_with_pillow(data, "BMP", faults, wanted)
    return facts


def _length(data: bytes, faults: Faults, offset: int, width: int, rows: int, bits: int) -> None:
    """TensorFlow takes no byte less, and none more, than the rows need."""
    needed = offset + rows * ((width * bits + 31) // 32 * 4)
    if len(data) < needed:
        faults.add(
            "truncated", f"{needed} bytes are needed for {rows} rows, {len(data)} are there", f"byte {len(data)}"
        )
    elif len(data) > needed:
        detail = f"{len(data) - needed} bytes follow after the last row; TensorFlow refuses the file for that"
        faults.add("trailing-bytes", detail, f"byte {needed}", DAMAGE if bits in (8, 24, 32) else ODD)


def _colours(data: bytes, faults: Faults, bits: int, offset: int) -> None:
    if bits < 8 or bits == 16:
        faults.add("not-for-tensorflow", f"{bits} bits per pixel: TensorFlow reads 8, 24 and 32", weight=ODD)
    elif bits == 8:
        start = 14 + int.from_bytes(data[14:18], "little")
        palette = data[start : min(offset, start + 1024)]
        blue, green, red = palette[0::4], palette[1::4], palette[2::4]
        if not (blue[: len(red)] == green[: len(red)] == red):
            faults.add("odd-mode", "a palette of colours: TensorFlow gives its indices as grey", weight=ODD)


def _short(data: bytes, faults: Faults) -> dict[str, Any]:
    if len(data) >= 26 and data[14] == 12:
        width, height, _, bits = struct.unpack_from("<HHHH", data, 18)
        faults.add("not-for-tensorflow", "a header of OS/2: TensorFlow reads the header of Windows alone", weight=ODD)
        _length(data, faults, int.from_bytes(data[10:14], "little"), width, height, bits)
        return {
            "width": width,
            "height": height,
            "channels": max(1, bits // 8),
            "mode": _MODES.get(bits, "?"),
            "depth": bits,
        }
    faults.add("truncated", f"{len(data)} bytes: the header alone takes 54", f"byte {len(data)}")
    return {}
