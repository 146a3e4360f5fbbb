"""Files for the tests of the checks: clean ones of each format by several writers, and what damages files."""

from __future__ import annotations

import io
import json
import random
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

import numpy
from PIL import Image, ImageFilter

from crashcart.probe.file_check import check
from crashcart.probe.file_crc import masked
from crashcart.sound import Checked, Wanted


class Held:
    """A file in memory, read as one that lies elsewhere."""

    local = None

    def __init__(self, path: str, data: bytes) -> None:
        self.path, self.data = path, data

    def size(self) -> int | None:
        return len(self.data)

    def open(self) -> io.BytesIO:
        return io.BytesIO(self.data)


def checked(path: str, data: bytes, **wanted: Any) -> Checked:
    return check(Held(path, data), Wanted(**wanted))


def kinds(found: Checked, weight: str | None = None) -> set[str]:
    return {fault.kind for fault in found.faults if weight in (None, fault.weight)}


def picture(width: int = 160, height: int = 120, seed: int = 0) -> Image.Image:
    noise = numpy.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype="uint8")
    return Image.fromarray(noise).filter(ImageFilter.GaussianBlur(2))


def saved(image: Image.Image, format: str, **options: Any) -> bytes:
    held = io.BytesIO()
    image.save(held, format, **options)
    return held.getvalue()


def jpegs() -> dict[str, bytes]:
    image = picture()
    exif = Image.Exif()
    exif[0x010E] = "a description"
    return {
        "baseline.jpg": saved(image, "JPEG"),
        "progressive.jpg": saved(image, "JPEG", progressive=True),
        "optimized.jpg": saved(image, "JPEG", optimize=True, quality=95),
        "restarts.jpg": saved(image, "JPEG", restart_marker_blocks=3),
        "restarts-progressive.jpg": saved(image, "JPEG", restart_marker_rows=1, progressive=True),
        "444.jpg": saved(image, "JPEG", subsampling=0),
        "422.jpg": saved(image, "JPEG", subsampling=1),
        "grey.jpg": saved(image.convert("L"), "JPEG"),
        "exif.jpg": saved(image, "JPEG", exif=exif, icc_profile=bytes(range(256)) * 300, comment=b"a comment"),
        "odd-sides.jpg": saved(picture(161, 37), "JPEG"),
        "one-block.jpg": saved(picture(3, 5), "JPEG"),
        "lowest.jpg": saved(image, "JPEG", quality=1),
        "highest.jpg": saved(image, "JPEG", quality=100, subsampling=0),
    }


def pngs() -> dict[str, bytes]:
    image = picture()
    named = {f"{mode}.png": saved(image.convert(mode), "PNG") for mode in ("1", "L", "LA", "RGB", "RGBA", "P")}
    text = __import__("PIL.PngImagePlugin", fromlist=["PngInfo"]).PngInfo()
    text.add_text("Comment", "hello" * 50)
    return {
        **named,
        "stored.png": saved(image, "PNG", compress_level=0),
        "text.png": saved(image, "PNG", pnginfo=text, optimize=True),
        "interlaced.png": interlaced(21, 13),
        "text-at-end.png": with_chunk(saved(image, "PNG"), b"tEXt", b"Title\0last"),
    }


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def with_chunk(png: bytes, kind: bytes, content: bytes) -> bytes:
    """Before the end."""
    return png[:-12] + chunk(kind, content) + png[-12:]


def interlaced(width: int, height: int) -> bytes:
    """A grey picture in seven passes: no writer at hand makes these."""
    rows = b""
    for x0, y0, dx, dy in (
        (0, 0, 8, 8),
        (4, 0, 8, 8),
        (0, 4, 4, 8),
        (2, 0, 4, 4),
        (0, 2, 2, 4),
        (1, 0, 2, 2),
        (0, 1, 1, 2),
    ):
        columns = len(range(x0, width, dx))
        for y in range(y0, height, dy):
            rows += b"\0" + bytes((x * 7 + y * 3) % 256 for x in range(x0, width, dx)) if columns else b""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def records(payloads: list[bytes]) -> bytes:
    """A TFRecord file."""
    framed = b""
    for data in payloads:
        length = struct.pack("<Q", len(data))
        framed += length + struct.pack("<I", masked(length)) + data + struct.pack("<I", masked(data))
    return framed


def _varint(value: int) -> bytes:
    value &= 2**64 - 1
    found = b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def feature(values: Any) -> bytes:
    """A Feature by the type of its values."""
    if not values:
        return b""
    if isinstance(values[0], bytes):
        return _field(1, b"".join(_field(1, value) for value in values))
    if isinstance(values[0], float):
        return _field(2, _field(1, struct.pack(f"<{len(values)}f", *values)))
    return _field(3, _field(1, b"".join(_varint(value) for value in values)))


def example(**features: Any) -> bytes:
    """A tf.train.Example as it is written."""
    entries = (_field(1, _field(1, name.encode()) + _field(2, feature(values))) for name, values in features.items())
    return _field(1, b"".join(entries))


def sequence_example(context: dict[str, Any], lists: dict[str, list[Any]]) -> bytes:
    named = (
        _field(1, _field(1, name.encode()) + _field(2, b"".join(_field(1, feature(step)) for step in steps)))
        for name, steps in lists.items()
    )
    return example(**context) + _field(2, b"".join(named))


def some_records(count: int = 50) -> bytes:
    made = random.Random(5)
    return records(
        [example(label=[n % 10], image=[made.randbytes(100 + n)], scale=[0.5, float(n)]) for n in range(count)]
    )


def zipped(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return held.getvalue()


def tarred(members: dict[str, bytes], mode: str = "w") -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return held.getvalue()


def table(rows: int = 200) -> bytes:
    return b"id,text,label\n" + b"".join(b'%d,"a, b\n%d",%d\n' % (n, n, n % 3) for n in range(rows))


def json_lines(rows: int = 50) -> bytes:
    return b"".join(json.dumps({"text": f"wörd {n}", "label": n % 3}).encode() + b"\n" for n in range(rows))


def flipped(data: bytes, at: int, bit: int) -> bytes:
    changed = bytearray(data)
    changed[at] ^= 1 << bit
    return bytes(changed)


def damages(data: bytes, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """What happens to files: each kind many times, at many places."""
    made, length = random.Random(seed), len(data)
    for _ in range(count):
        yield "truncated", data[: made.randrange(1, length)]
        yield "flip", flipped(data, made.randrange(length), made.randrange(8))
        yield "flip-head", flipped(data, made.randrange(min(length, 40)), made.randrange(8))
        at = made.randrange(length)
        end = min(length, at + made.choice([4, 64, 512, 4096]))
        yield "zeros", data[:at] + bytes(end - at) + data[end:]
        yield "zero-end", data[:at] + bytes(length - at)
        yield "removed", data[:at] + data[min(length, at + made.randrange(1, 200)) :]
        yield "inserted", data[:at] + made.randbytes(made.randrange(1, 200)) + data[at:]
    for last in (1, 2, 4, 12):
        yield "cut-end", data[:-last]
    for more in (3, 100, 5000):
        yield "tail", data + made.randbytes(more)
        yield "zero-tail", data + bytes(more)


def tiff(pixels: numpy.ndarray, compression: int = 1, photometric: int = 1, big: bool = False) -> bytes:
    """A TIFF of any number of bands and any type, which Pillow does not write: one strip behind one directory."""
    height, width, bands = pixels.shape
    count, wide, entry, place = ("Q", "Q", 20, 16) if big else ("H", "I", 12, 8)
    shorts = [
        (258, [pixels.dtype.itemsize * 8] * bands), (259, [compression]), (262, [photometric]), (277, [bands]),
        (339, [{"u": 1, "i": 2, "f": 3}[pixels.dtype.kind]] * bands),
    ]  # fmt: skip
    values = {tag: struct.pack(f"<{len(given)}H", *given) for tag, given in shorts}
    longs = {256: width, 257: height, 278: height, 279: pixels.nbytes, 273: 0}
    extra_at = place + struct.calcsize(count) + entry * (len(values) + len(longs)) + struct.calcsize(wide)
    longs[273] = extra_at + sum(len(each) for each in values.values())
    extra, entries = b"", []
    for tag in sorted({*values, *longs}):
        held = values[tag] if tag in values else struct.pack("<I", longs[tag])
        kind, number = (3, len(held) // 2) if tag in values else (4, 1)
        if len(held) > struct.calcsize(wide):
            extra, held = extra + held, struct.pack(f"<{wide}", extra_at + len(extra))
        entries.append(struct.pack(f"<HH{wide}", tag, kind, number) + held.ljust(struct.calcsize(wide), b"\0"))
    head = (b"II+\0\x08\0\0\0" if big else b"II*\0") + struct.pack(f"<{wide}", place)
    directory = head + struct.pack(f"<{count}", len(entries)) + b"".join(entries) + bytes(struct.calcsize(wide))
    return (directory + extra).ljust(longs[273], b"\0") + pixels.tobytes()
