"""WebP files, and pictures that Pillow alone can read (TIFF, AVIF).

Covers: the RIFF frame of WebP (length against the file), every frame decoded by Pillow; the size from the header first.
Does not cover: which release of TensorFlow reads WebP, beyond what `Wanted.tensorflow` says.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

from crashcart.probe.file_content import Faults
from crashcart.probe.file_lacking import pillow
from crashcart.probe.file_refused import refused
from crashcart.sound import ODD, UNCHECKED, Wanted

MOST_FRAMES = 10_000
_ZEROS = bytes(4096)
"""A page of zeros, as a crash leaves it. The decoder reads garbage from it without complaint."""
_FRAME_HEADER_BYTES = 16
# What Pillow's plugins raise for broken files, beside OSError.
ERRORS = (
    OSError, SyntaxError, ValueError, EOFError, TypeError, IndexError, KeyError, ArithmeticError, AttributeError, RuntimeError,
)  # fmt: skip


def check_webp(data: bytes, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """Width, height and mode; every frame decoded."""
    claimed = 8 + int.from_bytes(data[4:8], "little")
    if claimed > len(data):
        detail = f"the header says {claimed} bytes, {len(data)} are there"
        faults.add("truncated", detail, f"byte {len(data)}")
        return {}
    if len(data) > claimed + 1:
        faults.add("trailing-bytes", f"{len(data) - claimed} bytes follow after the picture", f"byte {claimed}", ODD)
    width, height = _webp_size(data)
    if width * height > wanted.most_pixels:
        faults.add(
            "too-large", f"{width} x {height} pixels; at most {wanted.most_pixels} are decoded", weight=UNCHECKED
        )
        return {"width": width, "height": height}
    if wanted.tensorflow is not None and wanted.tensorflow < (2, 20):
        detail = f"TensorFlow {wanted.tensorflow[0]}.{wanted.tensorflow[1]} does not decode WebP; 2.20 and later do"
        faults.add("not-for-tensorflow", detail, weight=ODD)
    zeros = _zeros(data, 12, claimed)
    if zeros is not None:
        faults.add(
            "zero-filled", f"at least {len(_ZEROS)} zeros in a row, which no coded picture holds", f"byte {zeros}"
        )
    return decode_with_pillow(data, "WEBP", faults, wanted)


def _zeros(data: bytes, at: int, end: int) -> int | None:
    """The first page of zeros in coded pixels, those of frames included, or in place of a chunk. Transparency that is stored
    plainly (ALPH), profiles and notes may hold any number of zeros."""
    while at + 8 <= end:
        name, length = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        body, stop = at + 8, min(end, at + 8 + length)
        found: int | None = None
        if name in (b"VP8 ", b"VP8L"):
            found = data.find(_ZEROS, body, stop)
        elif name == b"ANMF":
            found = _zeros(data, body + _FRAME_HEADER_BYTES, stop)
        elif not any(name):
            found = data.find(_ZEROS, max(12, at - len(_ZEROS)), at + len(_ZEROS) + 8)
        if found is not None and found >= 0:
            return found
        at = stop + length % 2
    return None


def _webp_size(data: bytes) -> tuple[int, int]:
    kind = data[12:16]
    if kind == b"VP8X" and len(data) >= 30:
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8 " and len(data) >= 30:
        return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF
    if kind == b"VP8L" and len(data) >= 25:
        packed = int.from_bytes(data[21:25], "little")
        return 1 + (packed & 0x3FFF), 1 + (packed >> 14 & 0x3FFF)
    return 0, 0


def check_other(name: str) -> Callable[[bytes, Faults, Wanted], dict[str, Any]]:
    """A check for a format that Pillow reads and TensorFlow does not."""

    def check(data: bytes, faults: Faults, wanted: Wanted) -> dict[str, Any]:
        faults.add("not-for-tensorflow", f"TensorFlow does not decode {name}", weight=ODD)
        return decode_with_pillow(data, name, faults, wanted)

    return check


def decode_with_pillow(data: bytes, name: str, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """Decode every frame with Pillow; what it refuses is damage, or of a kind that it does not know."""
    image = pillow()
    facts: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with image.open(io.BytesIO(data), formats=(name,)) as picture:
                width, height = picture.size
                frames = int(getattr(picture, "n_frames", 1))
                channels = len(picture.getbands())
                facts = {"width": width, "height": height, "channels": channels, "mode": picture.mode, "frames": frames}
                if width * height > wanted.most_pixels:
                    detail = f"{width} x {height} pixels; at most {wanted.most_pixels} are decoded"
                    faults.add("too-large", detail, weight=UNCHECKED)
                elif not wanted.quick:
                    _every_frame(picture, min(frames, MOST_FRAMES))
        except ERRORS as error:
            refused(name, data, error, bool(facts), faults)
    return facts


def _every_frame(picture: Any, frames: int) -> None:
    picture.load()
    for frame in range(1, frames):
        picture.seek(frame)
        picture.load()
