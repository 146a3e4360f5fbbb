"""TFRecord files: both checksums of every record, lengths, the end of the file, and the tf.train.Examples inside.

Covers: plain, gzip and zlib files of any size (records are looked at in a buffer that grows with the largest record
alone); features with their kind, numbers of values, range of integers; labels outside of the classes; NaN and infinite
floats; a zero-filled end, as a crash leaves it; pictures in bytes features (`file_record_pictures.py`). TensorFlow itself is
not needed.
Does not cover: whatever else the bytes of a feature hold (sound, serialized tensors).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

from crashcart.probe.file_content import MOST_WHOLE_BYTES, Content, Faults
from crashcart.probe.file_example import SlowWalk
from crashcart.probe.file_native import BAD_LENGTH, DONE, NONE_U64, Native, PictureFound, Walk, native
from crashcart.probe.file_record_pictures import RecordPictures
from crashcart.probe.file_schema import Schema, feature_facts, outside_words
from crashcart.sound import ODD, UNCHECKED, Wanted

BUFFER_BYTES = 1 << 20
"""Stays in the cache of the second level: reading into it and summing it up cost less than a mapping's page faults."""

Filler = Callable[[memoryview], int]


def check_tfrecord(content: Content, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """All records of a plain file."""
    return check_records(content.filler(), faults, wanted)


def check_records(fill: Filler, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """All records that come by `fill`, which puts bytes into a buffer and says how many; 0 at the end."""
    pictures = RecordPictures(wanted)
    walker = _Native(wanted, pictures) if native() is not None else SlowWalk(wanted, pictures)
    _Reader(fill, walker, faults).read()
    schema = walker.schema()
    facts = feature_facts(schema, wanted)
    _judge(schema, faults, facts, wanted)
    pictures.judge(schema, faults)
    return facts


class _Native:
    """The walk in C."""

    def __init__(self, wanted: Wanted, pictures: RecordPictures) -> None:
        library = native()
        assert library is not None
        self._library: Native = library
        self.walk = Walk(least_bytes=NONE_U64, parse=not wanted.quick)
        self.walk.classes = -1 if wanted.classes is None else wanted.classes
        self._pictures = pictures
        self.walk.found = PictureFound(pictures.see_at)

    @property
    def records(self) -> int:
        return int(self.walk.records)

    @property
    def wanted_bytes(self) -> int:
        return int(self.walk.wanted_bytes)

    def step(self, buffer: bytearray, start: int, end: int) -> tuple[int, int]:
        """Walk over a part of the buffer: how it ended, and the offset of the next record."""
        pinned = (ctypes.c_char * len(buffer)).from_buffer(buffer)
        self.walk.offset = 0
        state = self._library.records(ctypes.addressof(pinned) + start, end - start, self.walk)
        self._pictures.go_on()
        return state, start + int(self.walk.offset)

    def schema(self) -> Schema:
        return Schema.of_walk(self.walk)


class _Reader:
    """Keeps the buffer filled, and moves the rest of a record to its beginning."""

    def __init__(self, fill: Filler, walker: _Native | SlowWalk, faults: Faults) -> None:
        self._fill, self._walker, self._faults = fill, walker, faults
        self._buffer = bytearray(BUFFER_BYTES)
        self._start = self._end = self._passed = 0

    def read(self) -> None:
        """Until the end of the file, or a length that cannot be trusted."""
        while self._more():
            state, self._start = self._walker.step(self._buffer, self._start, self._end)
            if state == BAD_LENGTH:
                self._bad_length()
                return
            if state != DONE and self._walker.wanted_bytes > MOST_WHOLE_BYTES:
                self._large()
                return
        if self._end > self._start:
            self._cut()

    def _more(self) -> bool:
        """More bytes behind those that are left."""
        left = self._end - self._start
        room = max(BUFFER_BYTES, min(self._walker.wanted_bytes, MOST_WHOLE_BYTES) + BUFFER_BYTES if left else 0)
        if len(self._buffer) < room:
            self._buffer = self._buffer[self._start : self._end] + bytearray(room - left)
        elif self._start:
            self._buffer[:left] = self._buffer[self._start : self._end]
        self._passed += self._start
        self._start, self._end = 0, left
        with memoryview(self._buffer) as view, view[left:] as free:
            count = self._fill(free)
        self._end += count
        return count > 0

    @property
    def _place(self) -> tuple[str, int]:
        return f"record {self._walker.records}", self._passed + self._start

    def _bad_length(self) -> None:
        where, at = self._place
        rest = bytes(self._buffer[self._start : min(self._end, self._start + 4096)])
        if not any(rest):
            self._faults.add("zero-filled", f"zeros from byte {at} on, where a record should begin", where)
        else:
            self._faults.add(
                "crc-mismatch", f"the checksum of the length at byte {at} is wrong; nothing after it can be read", where
            )

    def _cut(self) -> None:
        where, at = self._place
        left, wanted = self._end - self._start, self._walker.wanted_bytes
        self._faults.add("truncated", f"the record at byte {at} takes {wanted} bytes, {left} are there", where)

    def _large(self) -> None:
        where, at = self._place
        detail = (
            f"the record at byte {at} takes {self._walker.wanted_bytes} bytes; at most {MOST_WHOLE_BYTES} are looked at"
        )
        self._faults.add("too-large", detail, where, UNCHECKED)


def _judge(schema: Schema, faults: Faults, facts: dict[str, Any], wanted: Wanted) -> None:
    if schema.bad_data:
        detail = f"the checksum of the data is wrong in {schema.bad_data} of {schema.records} records"
        faults.add("crc-mismatch", detail, f"record {schema.first_bad_data}", count=schema.bad_data)
    if not schema.records and not faults.any_damage:
        faults.add("no-content", "not one record is inside", weight=ODD)
    parsed = schema.examples + schema.sequences - schema.empty
    if schema.others and parsed > 0:
        detail = f"{schema.others} of {schema.records} records are no tf.train.Example, the others are"
        faults.add("not-an-example", detail, f"record {schema.first_other}", count=schema.others)
    if parsed <= 0:
        return
    for feature in schema.features:
        if feature.first_other_kind is not None:
            detail = f"feature {feature.name!r} is {' and '.join(feature.kinds)}"
            faults.add("schema-drift", detail, f"record {feature.first_other_kind}")
        if feature.not_finite:
            detail = f"{feature.not_finite} values of feature {feature.name!r} are NaN or infinite"
            faults.add("nan", detail, f"record {feature.first_not_finite}", ODD, feature.not_finite)
    label = schema.label(wanted)
    if label is not None and label.outside:
        detail = outside_words(label.outside, label.name, wanted.classes, label.low, label.high)
        faults.add("label-out-of-range", detail, f"record {label.first_outside}", count=label.outside)


def filler_of(blocks: Iterator[bytes]) -> Filler:
    """Bytes that come in blocks, put into a buffer."""
    rest = memoryview(b"")

    def fill(view: memoryview) -> int:
        nonlocal rest
        while not rest:
            block = next(blocks, None)
            if block is None:
                return 0
            rest = memoryview(block)
        count = min(len(view), len(rest))
        view[:count] = rest[:count]
        rest = rest[count:]
        return count

    return fill
