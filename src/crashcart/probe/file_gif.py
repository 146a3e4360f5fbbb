"""GIF files: every block of the frame structure, and every picture decompressed by Pillow.

Covers: header, colour tables, extensions, pictures with their sub-blocks, the trailer; the number of frames; pixels
over all frames. TensorFlow refuses a GIF only where no picture of it begins to decode; it reads what is left of a
damaged one, with garbage in it.
Does not cover: disposal and transparency.
"""

from __future__ import annotations

from typing import Any

from crashcart.probe.file_content import Faults
from crashcart.probe.file_webp import decode_with_pillow
from crashcart.sound import ODD, UNCHECKED, Wanted


class _CutError(Exception):
    """The file ends inside of a block, or between two."""

    def __init__(self, between: bool = False) -> None:
        super().__init__()
        self.between = between


class _BrokenError(Exception):
    """Something that no GIF holds."""


def check_gif(data: bytes, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """Width, height and frames; whether every frame can be read."""
    frames: list[tuple[int, int]] = []
    facts: dict[str, Any] = {}
    if len(data) >= 10:
        width, height = int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
        facts = {"width": width, "height": height, "channels": 3, "mode": "P"}
    end = len(data)
    try:
        end = _walk(data, frames)
    except _CutError as cut:
        if cut.between and frames:
            faults.add("truncated", f"the trailer after frame {len(frames)} is missing", f"byte {len(data)}", ODD)
        else:
            faults.add("truncated", f"the file ends inside of frame {max(1, len(frames))}", f"byte {len(data)}")
    except _BrokenError as broken:
        faults.add("not-decodable", str(broken))
    facts["frames"] = len(frames)
    if not faults.any_damage and not frames:
        faults.add("no-content", "no picture is inside")
    if faults.any_damage:
        return facts
    if len(data) > end + 1:
        faults.add("trailing-bytes", f"{len(data) - end} bytes follow after the trailer", f"byte {end}", ODD)
    pixels = facts["width"] * facts["height"] * len(frames)
    if pixels > wanted.most_pixels:
        detail = f"{facts['width']} x {facts['height']} pixels in {len(frames)} frames; at most {wanted.most_pixels} are decoded"
        faults.add("too-large", detail, weight=UNCHECKED)
    elif not wanted.quick:
        decode_with_pillow(data, "GIF", faults, wanted)
    return facts


def _walk(data: bytes, frames: list[tuple[int, int]]) -> int:
    """The byte after the trailer; the size of each frame is noted."""
    if len(data) < 13:
        raise _CutError
    at = 13 + _table_bytes(data[10])
    while True:
        if at >= len(data):
            raise _CutError(at == len(data))
        kind = data[at]
        if kind == 0x3B:
            return at + 1
        if kind == 0x21:
            at = _sub_blocks(data, at + 2)
        elif kind == 0x2C:
            if at + 10 >= len(data):
                raise _CutError
            frames.append(
                (int.from_bytes(data[at + 5 : at + 7], "little"), int.from_bytes(data[at + 7 : at + 9], "little"))
            )
            at += 10 + _table_bytes(data[at + 9])
            if at < len(data) and not 1 <= data[at] <= 11:
                raise _BrokenError(f"frame {len(frames)} has codes of {data[at]} bits")
            at = _sub_blocks(data, at + 1)
        elif kind == 0:
            at += 1
        else:
            raise _BrokenError(f"byte {at} is {kind:#04x}: no block begins so")


def _table_bytes(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _sub_blocks(data: bytes, at: int) -> int:
    while True:
        if at >= len(data):
            raise _CutError
        length = data[at]
        at += 1 + length
        if not length:
            return at
