"""Images: each format by the check that agrees with TensorFlow's decoder, then what is odd about the picture.

Covers: JPEG (`file_jpeg.py`), PNG (`file_png.py`), GIF, BMP, WebP; TIFF and AVIF by Pillow. Pixels claimed are known
from the header before anything is decoded. What TensorFlow's `decode_image` does not read, although the picture is
whole, is told as odd.
Does not cover: what the picture shows (dark, blurred, doubled).
"""

from __future__ import annotations

from typing import Any

from crashcart.probe.file_bmp import check_bmp
from crashcart.probe.file_content import Content, Faults, TooLargeError
from crashcart.probe.file_gif import check_gif
from crashcart.probe.file_jpeg import check_jpeg
from crashcart.probe.file_png import check_png
from crashcart.probe.file_webp import check_other, check_webp
from crashcart.sound import ODD, UNCHECKED, Wanted

FORMATS = {
    "jpeg": check_jpeg,
    "png": check_png,
    "gif": check_gif,
    "bmp": check_bmp,
    "webp": check_webp,
    "tiff": check_other("TIFF"),
    "avif": check_other("AVIF"),
}

_DIMENSION = "{0} frames: decode_image gives {0} pictures in one more dimension"
_FRAMES = {
    "gif": _DIMENSION,
    "webp": f"{_DIMENSION}, and refuses channels=3",
    "png": "{0} frames: decode_image gives the first alone",
    "tiff": "{0} pages: most readers give the first alone",
    "avif": "{0} frames: most readers give the first alone",
}


def check_image(format: str, content: Content, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """Decode a picture; its width, height, channels and mode."""
    try:
        data = content.whole()
    except TooLargeError as large:
        faults.add("too-large", f"{large} bytes of one picture", weight=UNCHECKED)
        return {}
    return check_picture(format, data, faults, wanted)


def check_picture(format: str, data: bytes, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """The same of bytes that are there."""
    facts = FORMATS[format](data, faults, wanted)
    width, height, frames = facts.get("width"), facts.get("height"), facts.get("frames", 1)
    if width is not None and height is not None and min(width, height) <= 1:
        faults.add("odd-size", f"{width} x {height} pixels", weight=ODD)
    if frames > 1:
        _several(format, frames, facts.get("mode"), faults)
    return facts


def _several(format: str, frames: int, mode: str | None, faults: Faults) -> None:
    """More than one frame, and what TensorFlow (2.21) makes of them."""
    faults.add("animated", _FRAMES[format].format(frames), weight=ODD)
    if format == "webp" and mode == "RGB":
        detail = (
            "an animation without transparency: decode_image of TensorFlow 2.21 writes beyond its memory, and may crash"
        )
        faults.add("not-for-tensorflow", detail, weight=ODD)
