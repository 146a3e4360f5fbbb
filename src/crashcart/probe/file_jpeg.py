"""JPEG files: whether every symbol of their data can be read, as libjpeg (and so TensorFlow) reads it.

Covers: baseline and progressive files by our own walk over all Huffman symbols, which is several times as fast as
decoding; whatever is not perfect there goes to libjpeg-turbo (simplejpeg, strict), then to Pillow to tell what
TensorFlow raises on (the data ends early) from what it reads with garbage in it (a warning of libjpeg's). Bytes after
the end; colours that are odd. A long run of zeros in the data, where the codes in use do not make it a flat area.
A quick check looks at the markers alone (`file_jpeg_outline.py` without the native walk).
Does not cover: coefficients and pixels of plausible data: a flipped bit that leads to other valid symbols cannot be
seen by anyone.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from crashcart.probe.file_content import Faults
from crashcart.probe.file_digest import mark_from
from crashcart.probe.file_jpeg_outline import ends_in_header, outline_end
from crashcart.probe.file_lacking import LackingError, library, pillow
from crashcart.probe.file_native import Picture, native
from crashcart.sound import ODD, UNCHECKED, Checked, Source, Wanted

_END = b"\xff\xd9"
_SOF = frozenset({0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF})
_PROCESSES = {
    0xC0: "baseline",
    0xC1: "extended",
    0xC2: "progressive",
    0xC3: "lossless",
    0xC9: "arithmetic",
    0xCA: "arithmetic",
}
_READ_EVERYWHERE = frozenset({0xC0, 0xC1, 0xC2, 0xC9, 0xCA})
_END_WITHIN = 4096
_EXTRA_AT_END = re.compile(r"(\d+) extraneous bytes before marker 0xd9")
_ZEROS_TOLD = "64 zeros in a row or more: by the codes of this file, blocks of equal coefficients, which no picture has"
# What may follow a picture on purpose: a film (motion photos), another picture, a trailer of a phone's maker.
_KNOWN_TAILS = (b"ftyp", b"MotionPhoto", b"SEFT", b"SEFH", b"\xff\xd8\xff")


def check_jpeg(data: bytes, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """Width, height and colours; whether all of it can be read. What a quick check does not find perfect is read as a whole."""
    if wanted.quick and (facts := _outlined(data, faults)) is not None:
        return facts
    walker, overrun = native(), 0
    if walker is not None:
        sound, picture = walker.jpeg(data)
        if sound:
            return _walked(data, picture, faults)
        if picture.zeros:
            faults.add("zero-filled", _ZEROS_TOLD, f"byte {picture.zeros}")
        overrun = picture.overrun
    frame, cut = _frame(data), ends_in_header(data)
    if cut:
        faults.add("truncated", "the file ends in its header, before the data of the picture", f"byte {len(data)}")
    if frame is None:
        if not cut:
            faults.add("not-decodable", "no frame header: not one picture is described")
        return {}
    facts = _facts(*frame, faults)
    if frame[0] * frame[1] > wanted.most_pixels:
        faults.add(
            "too-large", f"{frame[0]} x {frame[1]} pixels; at most {wanted.most_pixels} are decoded", weight=UNCHECKED
        )
    elif not faults.any_damage:
        _decode_any(data, frame[3], frame[4], faults)
        if overrun and not faults.any_damage:
            detail = f"a block of unit {overrun} holds more than 64 coefficients; decoders pass over that"
            faults.add("recovered", detail, f"unit {overrun}")
    return facts


def check_jpeg_file(source: Source, wanted: Wanted) -> Checked | None:
    """A small file of this machine that is perfect, read and looked at in one call; None for all others."""
    walker = native()
    if walker is None or source.local is None:
        return None
    try:
        name = os.fsencode(source.local)
    except UnicodeEncodeError:
        return None
    file = None if b"\0" in name else walker.jpeg_file(name, wanted.quick, wanted.duplicates)
    if file is None:
        return None
    picture = file.picture
    if picture.components not in (1, 3) or picture.width <= 1 or picture.height <= 1:
        return None
    facts = _usual_facts(picture.width, picture.height, picture.components, picture.process)
    digest = mark_from(file.crc, file.bytes) if wanted.duplicates else None
    return Checked(source.path, file.bytes, file.modified_ns, "jpeg", digest, (), facts)


@lru_cache(1024)
def _usual_facts(width: int, height: int, components: int, process: int) -> Mapping[str, Any]:
    """One for all pictures that are alike: nobody changes what was learnt, and a message names it once for all of them."""
    return _facts(width, height, components, 8, 0xC0 + process, Faults())


def _outlined(data: bytes, faults: Faults) -> dict[str, Any] | None:
    """What the header says, where the markers are all in their places; None where they are not."""
    walker = native()
    if walker is not None:
        sound, picture = walker.jpeg(data, outline=True)
        return _walked(data, picture, faults) if sound else None
    end, frame = outline_end(data), _frame(data)
    if end is None or frame is None:
        return None
    _end(data, end, b"MPF\x00" in data[:65536], faults)
    return _facts(*frame, faults)


def _walked(data: bytes, picture: Picture, faults: Faults) -> dict[str, Any]:
    if picture.end != len(data):
        _end(data, picture.end, bool(picture.multi), faults)
    return _facts(picture.width, picture.height, picture.components, 8, 0xC0 + picture.process, faults)


def _facts(width: int, height: int, components: int, depth: int, marker: int, faults: Faults) -> dict[str, Any]:
    mode = {1: "L", 3: "RGB", 4: "CMYK"}.get(components, f"{components} components")
    if components not in (1, 3):
        faults.add("odd-mode", f"{components} components ({mode}): TensorFlow converts it to RGB", weight=ODD)
    process = _PROCESSES.get(marker, f"SOF{marker - 0xC0}")
    return {"width": width, "height": height, "channels": components, "mode": mode, "depth": depth, "process": process}


def _frame(data: bytes) -> tuple[int, int, int, int, int] | None:
    """Width, height, components, depth and marker of the frame header."""
    at = 2
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            at = data.find(b"\xff", at)
            if at < 0:
                return None
            continue
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in _SOF:
            if at + 10 > len(data):
                return None
            height, width = int.from_bytes(data[at + 5 : at + 7], "big"), int.from_bytes(data[at + 7 : at + 9], "big")
            return width, height, data[at + 9], data[at + 4], marker
        elif marker in (0xD9, 0xDA):
            return None
        elif marker == 0 or marker == 1 or 0xD0 <= marker <= 0xD8:
            at += 2
        else:
            at += 2 + max(2, int.from_bytes(data[at + 2 : at + 4], "big"))
    return None


def _decode_any(data: bytes, depth: int, marker: int, faults: Faults) -> None:
    """Let libjpeg read it. What it refuses of kinds that it mostly is not built for is not checked, where the end is there."""
    found = Faults()
    _decode(data, found)
    usual = depth == 8 and marker in _READ_EVERYWHERE
    if usual or not found.any_damage:
        faults.take(found.all())
    elif _END not in data[-_END_WITHIN:]:
        faults.add("truncated", "no end marker", f"byte {len(data)}")
    else:
        process = _PROCESSES.get(marker, f"SOF{marker - 0xC0}")
        detail = f"JPEG, {process}, {depth} bits: libjpeg, as it is installed here, does not read this kind"
        faults.add("not-checked", detail, weight=UNCHECKED)


def _decode(data: bytes, faults: Faults) -> None:
    """Let libjpeg read it; every complaint of it is a fault."""
    try:
        complaint = _complaint(data)
    except LackingError as lacking:
        _with_pillow_alone(data, faults, lacking)
        return
    if complaint is None:
        _end(data, _last_end(data), b"MPF\x00" in data[:65536], faults)
        return
    try:
        refusal = _refusal(data)
    except LackingError:
        refusal = None
    extra = _EXTRA_AT_END.search(complaint)
    if refusal is not None:
        kind = (
            "truncated" if "truncated" in refusal.lower() or "Premature end of JPEG" in complaint else "not-decodable"
        )
        faults.add(
            kind, f"{complaint}; TensorFlow refuses the file", f"byte {len(data)}" if kind == "truncated" else None
        )
    elif extra:
        faults.add("recovered", f"{complaint}; the picture is read without them", weight=ODD)
    else:
        faults.add("recovered", f"{complaint}; TensorFlow reads on, and the picture may hold garbage")


def _complaint(data: bytes) -> str | None:
    """The first thing that libjpeg-turbo says of the file. Grey at an eighth: all symbols are read, few pixels are computed."""
    jpeg = library("simplejpeg")
    for attempt in (data, _plain_version(data)):
        try:
            jpeg.decode_jpeg(attempt, "GRAY", strict=True, min_factor=8, min_height=1, min_width=1)
            return None
        except ValueError as error:
            complaint = _one_line(error)
            if "JFIF revision" not in complaint:
                break
    if "subsampling" in complaint or "colorspace" in complaint.lower() or "precision" in complaint.lower():
        # An unusual layout that TurboJPEG has no name for: Pillow reads it.
        return _refusal(data)
    return complaint


def _plain_version(data: bytes) -> bytes:
    """With a usual version in its JFIF header: libjpeg warns of others, which means nothing, and hides what comes after."""
    at = data.find(b"JFIF\x00", 0, 64)
    return data if at < 0 else data[: at + 5] + b"\x01\x01" + data[at + 7 :]


def _refusal(data: bytes) -> str | None:
    """Why Pillow does not read it, where it does not. It passes over warnings, as TensorFlow does."""
    image = pillow()
    try:
        with image.open(io.BytesIO(data), formats=("JPEG",)) as picture:
            picture.load()
    except (OSError, SyntaxError, ValueError, EOFError, TypeError, IndexError, KeyError, ArithmeticError) as error:
        return _one_line(error)
    return None


def _with_pillow_alone(data: bytes, faults: Faults, lacking: LackingError) -> None:
    refusal = _refusal(data)
    if refusal is not None:
        faults.add("truncated" if "truncated" in refusal.lower() else "not-decodable", refusal)
        return
    faults.add("no-library", f"damage inside of the data: {lacking}", weight=UNCHECKED)


def _last_end(data: bytes) -> int:
    """The byte after the first end marker that follows the last scan; the end where that is not known."""
    found = data.rfind(_END)
    return found + 2 if found >= 0 else len(data)


def _end(data: bytes, end: int, more_pictures: bool, faults: Faults) -> None:
    """Whatever follows after the end marker. Two bytes of padding are common and nobody minds."""
    rest = len(data) - end
    if rest <= 2 or more_pictures:
        return
    tail = data[end : end + 65536]
    if any(mark in tail or mark in data[-64:] for mark in _KNOWN_TAILS):
        return
    what = "zeros" if not any(tail) else "bytes"
    faults.add("trailing-bytes", f"{rest} {what} follow after the end of the picture", f"byte {end}", ODD)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
