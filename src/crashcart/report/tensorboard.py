"""Growth over the steps as scalars for TensorBoard, in the standard summary format.

Covers: one event file: TFRecord frames around `Event` messages with `Summary.Value.simple_value`, which every TensorBoard reads.
The few bytes of protocol buffers are written here, so that neither TensorFlow nor TensorBoard has to be there.
Does not cover: anything but scalars. Steps are the program's; the wall time is that of the look, where it is known, else that
of the writing.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path

from crashcart.growth import Growth, Series
from crashcart.probe.file_crc import masked

_VERSION = b"brain.Event:2"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def write_scalars(growth: Growth, directory: Path) -> Path:
    """Write all series into a new event file of the directory, which is made where it is not there; its path."""
    directory.mkdir(parents=True, exist_ok=True)
    now_s = time.time()
    path = directory / f"events.out.tfevents.{int(now_s)}.crashcart.{os.getpid()}.{growth.pid}"
    with path.open("wb") as file:
        for event in _events(growth, now_s):
            file.write(framed(event))
    return path


def framed(data: bytes) -> bytes:
    """A record as TFRecord frames it: length, its sum, the data, its sum."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked(length)) + data + struct.pack("<I", masked(data))


def _events(growth: Growth, now_s: float) -> Iterator[bytes]:
    yield _wall(growth.began_unix_s or now_s) + _block(3, _VERSION)
    for series in growth.series:
        tag = f"crashcart/{series.name}{'_bytes' if series.unit == 'bytes' and 'bytes' not in series.name else ''}"
        for step, value, at_s in zip(series.steps, series.values, _times(series, growth, now_s), strict=True):
            scalar = _block(1, tag.encode()) + _key(2, _FIXED32) + struct.pack("<f", value)
            yield _wall(at_s) + _key(2, _VARINT) + _varint(step) + _block(5, _block(1, scalar))


def _times(series: Series, growth: Growth, now_s: float) -> list[float]:
    """When each value was seen, by the clock on the wall."""
    began = growth.began_unix_s
    if began is None or len(series.at_s) != len(series.steps):
        return [now_s] * len(series.steps)
    return [began + each for each in series.at_s]


def _wall(unix_s: float) -> bytes:
    return _key(1, _FIXED64) + struct.pack("<d", unix_s)


def _key(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _block(field: int, data: bytes) -> bytes:
    return _key(field, _BYTES) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
