"""Clean files of kinds that no library here reads: they have to be told as not checked, neither as good nor as damaged.

Covers: TIFF of many bands and of floats, HDF5 whose chunks were packed by a filter that is not installed, zip members of a method
that Python does not unpack, HDF4. Does not cover: kinds that can be checked (`clean_*.py`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.data.clean_others import zipped
from bench.data.clean_tables import array, text
from bench.data.sample import Sample, clean, of_bytes

_SHORT, _LONG, _INLINE_BYTES = 3, 4, 4
_BLOSC, _DEFLATE64 = 32001, 9


def tiff(dtype: str, bands: int) -> Callable[[int], bytes]:
    """As programs of remote sensing write it: one strip, samples of any type."""

    def made(seed: int) -> bytes:
        pixels = np.abs(array(seed, "float64", (24, 32, bands))).astype(dtype)
        kind = 3 if pixels.dtype.kind == "f" else 1
        tags = {
            256: (_LONG, [32]), 257: (_LONG, [24]), 258: (_SHORT, [pixels.dtype.itemsize * 8] * bands), 259: (_SHORT, [1]),
            262: (_SHORT, [1]), 273: (_LONG, [0]), 277: (_SHORT, [bands]), 278: (_LONG, [24]), 279: (_LONG, [pixels.nbytes]),
            339: (_SHORT, [kind] * bands),
        }  # fmt: skip
        tags[273] = (_LONG, [len(_directory(tags))])
        return _directory(tags) + bytes(pixels.tobytes())

    return made


def _directory(tags: dict[int, tuple[int, list[int]]]) -> bytes:
    """Header, directory, and the values that do not fit into it."""
    behind, entries, start = b"", b"", 8 + 2 + 12 * len(tags) + 4
    for tag, (kind, values) in tags.items():
        packed = struct.pack(f"<{len(values)}{'H' if kind == _SHORT else 'I'}", *values)
        if len(packed) > _INLINE_BYTES:
            packed, behind = struct.pack("<I", start + len(behind)), behind + packed
        entries += struct.pack("<HHI", tag, kind, len(values)) + packed.ljust(_INLINE_BYTES, b"\0")
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + bytes(4) + behind


def _packed_hdf5(path: Path, seed: int) -> None:
    """A chunk as Blosc packs it (a header of 16 bytes, and the data as it is), written without Blosc."""
    import h5py

    values = array(seed, "<f4", (64,)).tobytes()
    with h5py.File(path, "w") as file:
        plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plan.set_chunk((64,))
        plan.set_filter(_BLOSC, h5py.h5z.FLAG_OPTIONAL, (2, 2, 4, len(values)))
        made = h5py.h5d.create(file.id, b"x", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((64,)), plan)
        head = struct.pack("<BBBBIII", 2, 1, 2, 4, len(values), len(values), len(values) + 16)
        h5py.Dataset(made).id.write_direct_chunk((0,), head + values)


def _deflate64(seed: int) -> bytes:
    """A short stream of Deflate is one of Deflate64, too: the method alone is another."""
    data = bytearray(zipped(seed, members={"a.txt": text(seed, 3).encode()}))
    for mark, place in ((b"PK\3\4", 8), (b"PK\1\2", 10)):
        at = data.index(mark) + place
        data[at : at + 2] = struct.pack("<H", _DEFLATE64)
    return bytes(data)


def _hdf4(seed: int) -> bytes:
    """The mark, and a block of descriptors without data."""
    return b"\x0e\x03\x13\x01" + struct.pack(">HI", 1, 0) + struct.pack(">HHII", 30, seed % 60000, 22, 4) + b"\0\0\0\4"


def samples() -> list[Sample]:
    """All of them."""
    foreign = "not-for-tensorflow"
    made = [
        clean("TIFF", "TIFF, 13 bands of 16 bits", ".tif", of_bytes(tiff("<u2", 13)), foreign),
        clean("TIFF", "TIFF, colours in floats", ".tiff", of_bytes(tiff("<f4", 3)), foreign),
        clean("HDF5", "HDF5, a filter that is not installed", ".h5", _packed_hdf5),
        clean("zip", "zip, Deflate64", ".zip", of_bytes(_deflate64)),
        clean("HDF4", "HDF4", ".hdf", of_bytes(_hdf4)),
    ]
    return [replace(each, unread=True) for each in made]
