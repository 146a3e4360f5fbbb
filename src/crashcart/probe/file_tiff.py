"""What a TIFF file says of itself: its directories, and whether the file holds all that they point to.

Covers: classic and big files of both byte orders, strips and tiles of every page. It is asked where Pillow refuses a file, to
tell a file that is cut or broken from one that is whole and of a kind that Pillow does not read.
Does not cover: the samples themselves.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}
_CODES = {1: "B", 3: "H", 4: "I", 13: "I", 16: "Q", 18: "Q"}
_WIDTH, _HEIGHT, _BITS, _COMPRESSION, _BANDS, _SAMPLES = 256, 257, 258, 259, 277, 339
_PLACES = ((273, 279), (324, 325))  # strips and tiles: where they begin, and how long they are
_NEEDED = frozenset({_WIDTH, _HEIGHT, _BITS, _COMPRESSION, _BANDS, _SAMPLES, *sum(_PLACES, ())})
_NUMBERS = {1: "", 2: " (signed)", 3: " (floats)", 5: " (complex integers)", 6: " (complex)"}
_MOST_PAGES = 10_000
_EVERYWHERE = frozenset({1, 2, 3, 4, 5, 7, 8, 32773, 32946})
"""Ways of packing that every libtiff knows: none, fax, LZW, JPEG, deflate, PackBits. Others are a matter of how it was built."""

Tags = dict[int, tuple[int, ...]]


class TiffCutError(Exception):
    """The file ends before what its directories describe does."""


class TiffBrokenError(Exception):
    """The directories describe no picture."""


@dataclass(frozen=True)
class Layout:
    """The first page of a file that is whole."""

    width: int
    height: int
    bands: int
    bits: int
    sample_format: int
    compression: int

    @property
    def packed_as_usual(self) -> bool:
        """Whether any reader can unpack it."""
        return self.compression in _EVERYWHERE

    def __str__(self) -> str:
        """`13 bands of 16 bits, compression 5`."""
        bands = "1 band" if self.bands == 1 else f"{self.bands} bands"
        return f"{bands} of {self.bits} bits{_NUMBERS.get(self.sample_format, '')}, compression {self.compression}"


def tiff_layout(data: bytes) -> Layout:
    """What the file holds; raises TiffCutError or TiffBrokenError where it does not hold what it says."""
    pages = [_page(data, tags) for tags in _directories(data)]
    if not pages:
        raise TiffBrokenError("not one page is described")
    return pages[0]


def _page(data: bytes, tags: Tags) -> Layout:
    if not tags.get(_WIDTH) or not tags.get(_HEIGHT):
        raise TiffBrokenError("a page has no width or height")
    for begins, lengths in _PLACES:
        for begin, length in zip(tags.get(begins, ()), tags.get(lengths, ()), strict=False):
            _within(data, begin, length)
    if not any(tags.get(begins) for begins, _ in _PLACES):
        raise TiffBrokenError("nothing says where the samples are")
    numbers = (tags.get(tag, (usual,))[0] for tag, usual in ((_BANDS, 1), (_BITS, 1), (_SAMPLES, 1), (_COMPRESSION, 1)))
    return Layout(tags[_WIDTH][0], tags[_HEIGHT][0], *numbers)


def _directories(data: bytes) -> Iterator[Tags]:
    """The tags of each page that say where and how its samples lie."""
    order = "<" if data[:2] == b"II" else ">"
    big = data[2:4] in (b"+\0", b"\0+")
    wide, count_code, entry = ("Q", "Q", 20) if big else ("I", "H", 12)
    at, seen = _one(data, order + wide, 8 if big else 4), set[int]()
    while at and at not in seen and len(seen) < _MOST_PAGES:
        seen.add(at)
        count, start = _one(data, order + count_code, at), at + struct.calcsize(count_code)
        _within(data, start, count * entry)
        yield dict(_tags(data, order, wide, range(start, start + count * entry, entry)))
        end = start + count * entry
        at = _one(data, order + wide, end) if end < len(data) else 0  # some writers leave out the end of the chain


def _tags(data: bytes, order: str, wide: str, places: range) -> Iterator[tuple[int, tuple[int, ...]]]:
    room = struct.calcsize(wide)
    for at in places:
        tag, kind, count = struct.unpack_from(f"{order}HH{wide}", data, at)
        if tag not in _NEEDED:
            continue
        if kind not in _CODES or not count:
            raise TiffBrokenError(f"tag {tag} has {count} values of type {kind}")
        place = at + 4 + room
        if count * _SIZES[kind] > room:
            place = _one(data, order + wide, place)
        _within(data, place, count * _SIZES[kind])
        yield tag, struct.unpack_from(f"{order}{count}{_CODES[kind]}", data, place)


def _one(data: bytes, code: str, at: int) -> int:
    _within(data, at, struct.calcsize(code))
    return int(struct.unpack_from(code, data, at)[0])


def _within(data: bytes, at: int, length: int) -> None:
    if at + length > len(data):
        raise TiffCutError(f"it points to byte {at + length}, {len(data)} are there")
