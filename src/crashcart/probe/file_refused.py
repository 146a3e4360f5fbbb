"""Why Pillow refuses a picture: it is cut, it is broken, or it is whole and of a kind that this Pillow does not read.

Covers: TIFF by its directories (`file_tiff.py`), AVIF by its boxes, and what Pillow itself says of all others. What cannot be
told from a kind that is not known here is not checked: never good, and never damaged.
Does not cover: JPEG, PNG, GIF and BMP, which have checks of their own.
"""

from __future__ import annotations

from crashcart.probe.file_content import Faults
from crashcart.probe.file_lacking import library
from crashcart.probe.file_tiff import TiffBrokenError, TiffCutError, tiff_layout
from crashcart.sound import UNCHECKED

_MOST_BOXES = 10_000


def refused(name: str, data: bytes, error: Exception, opened: bool, faults: Faults) -> None:
    """Tell what an error of Pillow's says of the file; `opened`: the header was read, and the samples were not."""
    words = " ".join(str(error).split())[:200] or type(error).__name__
    if name == "TIFF":
        _tiff(data, words, opened, faults)
    elif not opened and _not_known(error):
        _unidentified(name, data, faults)
    else:
        faults.add("truncated" if "truncated" in words.lower() else "not-decodable", words)


def _not_known(error: Exception) -> bool:
    """Whether no plugin of Pillow's took the file for its own."""
    return isinstance(error, library("PIL", "pillow").UnidentifiedImageError)


def _tiff(data: bytes, words: str, opened: bool, faults: Faults) -> None:
    try:
        layout = tiff_layout(data)
    except TiffCutError as cut:
        faults.add("truncated", str(cut), f"byte {len(data)}")
    except TiffBrokenError as broken:
        faults.add("not-decodable", str(broken))
    else:
        if opened and layout.packed_as_usual:
            faults.add("truncated" if "truncated" in words.lower() else "not-decodable", words)
        else:
            detail = f"TIFF of {layout}: Pillow does not read this kind, and the directories are whole"
            faults.add("not-checked", detail, weight=UNCHECKED)


def _unidentified(name: str, data: bytes, faults: Faults) -> None:
    end = _boxes_end(data) if name == "AVIF" else 0
    if name == "WEBP" and library("PIL.features", "pillow").check(
        "webp"
    ):  # there are three kinds, and it reads all of them
        faults.add("not-decodable", f"no WebP has {data[12:16]!r} as its first chunk", "byte 12")
    elif end > len(data):
        faults.add("truncated", f"its boxes take {end} bytes, {len(data)} are there", f"byte {len(data)}")
    else:
        faults.add("not-checked", f"{name}: Pillow, as it is installed here, does not know this kind", weight=UNCHECKED)


def _boxes_end(data: bytes) -> int:
    """Where the last box of an ISO base media file ends, by the lengths of all."""
    at = 0
    for _ in range(_MOST_BOXES):
        length = int.from_bytes(data[at : at + 4], "big")
        if at >= len(data) or not length:  # 0: up to the end of the file
            break
        at += int.from_bytes(data[at + 8 : at + 16], "big") if length == 1 else length
    return at
