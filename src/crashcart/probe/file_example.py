"""The walk over TFRecord records in Python, for machines without the native library: the same results, slowly.

Covers: checksums of records, and tf.train.Example and SequenceExample read from the wire format of protocol buffers.
Does not cover: the native walk (`native_files/records.c`, `example.c`), which it is tested against.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from crashcart.probe.file_crc import masked
from crashcart.probe.file_native import BAD_LENGTH, DONE, MORE, MOST_FEATURES, MOST_NAME_BYTES
from crashcart.probe.file_record_pictures import RecordPictures
from crashcart.probe.file_schema import BYTES, EMPTY, FLOAT, INT, LIST, FeatureSeen, Schema
from crashcart.probe.file_signature import picture_format
from crashcart.sound import Wanted

_HEAD_BYTES, _FRAME_BYTES = 12, 16
_KINDS = {1: BYTES, 2: FLOAT, 3: INT}


class _NeitherError(Exception):
    """The record is no Example and no SequenceExample."""


@dataclass(slots=True)
class _Values:
    kind: int = EMPTY
    count: int = 0
    low: int | None = None
    high: int | None = None
    not_finite: int = 0
    outside: int = 0
    filled: int = 0
    pictures: list[bytes] = field(default_factory=list)

    def add(self, values: list[int], classes: int | None) -> None:
        if not values:
            return
        self.count += len(values)
        self.low = min(values) if self.low is None else min(self.low, *values)
        self.high = max(values) if self.high is None else max(self.high, *values)
        if classes is not None:
            self.outside += sum(not 0 <= value < classes for value in values)


class SlowWalk:
    """The same as `crashcart_records`, record by record."""

    def __init__(self, wanted: Wanted, pictures: RecordPictures) -> None:
        self._wanted, self._pictures = wanted, pictures
        self._schema = Schema()
        self._features: dict[str, FeatureSeen] = {}
        self.wanted_bytes = _HEAD_BYTES

    @property
    def records(self) -> int:
        """How many were walked over."""
        return self._schema.records

    def schema(self) -> Schema:
        """What they hold."""
        self._schema.features = list(self._features.values())
        return self._schema

    def step(self, buffer: bytearray, start: int, end: int) -> tuple[int, int]:
        """Walk over a part of the buffer: how it ended, and the offset of the next record."""
        with memoryview(buffer) as view:
            while start < end:
                self.wanted_bytes = _HEAD_BYTES
                if end - start < _HEAD_BYTES:
                    return MORE, start
                length, stored = struct.unpack_from("<QI", buffer, start)
                if masked(bytes(view[start : start + 8])) != stored or length > 2**64 - 1 - _FRAME_BYTES:
                    return BAD_LENGTH, start
                self.wanted_bytes = length + _FRAME_BYTES
                if end - start < self.wanted_bytes:
                    return MORE, start
                data = bytes(view[start + _HEAD_BYTES : start + _HEAD_BYTES + length])
                self._one(data, struct.unpack_from("<I", buffer, start + _HEAD_BYTES + length)[0])
                start += self.wanted_bytes
        self.wanted_bytes = _HEAD_BYTES
        return DONE, start

    def _one(self, data: bytes, stored: int) -> None:
        schema, number = self._schema, self._schema.records
        if masked(data) != stored:
            schema.first_bad_data = schema.first_bad_data if schema.bad_data else number
            schema.bad_data += 1
        else:
            schema.empty += not data
            if not self._wanted.quick:
                self._parse(data, number)
        schema.least_bytes = len(data) if schema.least_bytes is None else min(schema.least_bytes, len(data))
        schema.most_bytes = max(schema.most_bytes, len(data))
        schema.data_bytes += len(data)
        schema.records += 1

    def _parse(self, data: bytes, number: int) -> None:
        schema = self._schema
        try:
            found = list(_example(data, self._wanted.classes))
        except _NeitherError:
            schema.first_other = schema.first_other if schema.others else number
            schema.others += 1
            return
        sequence = any(values is None for _, values, _ in found)
        schema.sequences += sequence
        schema.examples += not sequence
        for name, values, also in found:
            if values is not None:
                self._note(name, values, also, number)
                for data in values.pictures:
                    self._pictures.see(number, name, data)

    def _note(self, name: bytes, values: _Values, also: int, number: int) -> None:
        text = name.decode("utf-8", "backslashreplace")
        known = self._features.get(text)
        if known is None:
            if len(self._features) == MOST_FEATURES or len(name) > MOST_NAME_BYTES:
                self._schema.too_many = True
                return
            known = self._features[text] = FeatureSeen(text)
        earlier = known.bits & ~(EMPTY | LIST)
        if earlier and values.kind != EMPTY and not earlier & values.kind and known.first_other_kind is None:
            known.first_other_kind = number
        known.bits |= values.kind | also
        known.records += known.last_record != number
        known.last_record = number
        known.least = values.count if known.least is None else min(known.least, values.count)
        known.most = max(known.most, values.count)
        if values.kind == INT and values.low is not None and values.high is not None:
            known.low = values.low if known.low is None else min(known.low, values.low)
            known.high = values.high if known.high is None else max(known.high, values.high)
        if values.not_finite and not known.not_finite:
            known.first_not_finite = number
        known.not_finite += values.not_finite
        if values.outside and not known.outside:
            known.first_outside = number
        known.outside += values.outside
        known.filled += values.filled
        known.pictures += len(values.pictures)
        if values.filled > len(values.pictures) and known.first_plain is None:
            known.first_plain = number


def _example(data: bytes, classes: int | None) -> Iterator[tuple[bytes, _Values | None, int]]:
    """The features of a record; a name with None says that it is a SequenceExample."""
    for number, kind, content in _fields(data):
        if kind != 2 or number > 2:
            raise _NeitherError
        assert isinstance(content, bytes)
        if number == 2:
            yield b"", None, 0
        for entry_number, entry_kind, entry in _fields(content):
            if entry_kind != 2 or entry_number != 1:
                raise _NeitherError
            assert isinstance(entry, bytes)
            name, value = _entry(entry)
            if number == 1:
                yield name, _feature(value, classes), 0
            else:
                yield name, _feature_list(value, classes), LIST


def _entry(entry: bytes) -> tuple[bytes, bytes]:
    name = value = b""
    for number, kind, content in _fields(entry):
        if kind != 2 or number > 2:
            raise _NeitherError
        assert isinstance(content, bytes)
        if number == 1:
            name = content
        else:
            value = content
    return name, value


def _feature_list(data: bytes, classes: int | None) -> _Values:
    every, steps = _Values(), 0
    for number, kind, content in _fields(data):
        if kind != 2 or number != 1:
            raise _NeitherError
        assert isinstance(content, bytes)
        values = _feature(content, classes)
        if values.low is not None and values.high is not None:
            every.low = values.low if every.low is None else min(every.low, values.low)
            every.high = values.high if every.high is None else max(every.high, values.high)
        every.kind = values.kind if values.kind != EMPTY else every.kind
        every.not_finite += values.not_finite
        every.outside += values.outside
        every.filled += values.filled
        every.pictures += values.pictures
        steps += 1
    every.count = steps
    return every


def _feature(data: bytes, classes: int | None) -> _Values:
    values = _Values()
    for number, kind, content in _fields(data):
        if kind != 2 or number not in _KINDS:
            raise _NeitherError
        assert isinstance(content, bytes)
        values.kind, values.count, values.low, values.high = _KINDS[number], 0, None, None
        for inner, wire, item in _fields(content):
            if inner != 1:
                raise _NeitherError
            _item(values, wire, item, classes)
    return values


def _item(values: _Values, wire: int, item: bytes | int, classes: int | None) -> None:
    if values.kind == BYTES and wire == 2 and isinstance(item, bytes):
        values.count += 1
        values.filled += bool(item)
        if picture_format(item) is not None:
            values.pictures.append(item)
    elif values.kind == FLOAT and wire in (2, 5) and isinstance(item, bytes) and len(item) % 4 == 0:
        values.count += len(item) // 4
        values.not_finite += sum(b & 0x7F800000 == 0x7F800000 for b in struct.unpack(f"<{len(item) // 4}I", item))
    elif values.kind == INT and wire == 2 and isinstance(item, bytes):
        values.add(_varints(item), classes)
    elif values.kind == INT and wire == 0 and isinstance(item, int):
        values.add([_signed(item)], classes)
    else:
        raise _NeitherError


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def _varints(data: bytes) -> list[int]:
    found, at = [], 0
    while at < len(data):
        value, at = _varint(data, at)
        found.append(_signed(value))
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    result = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise _NeitherError
        byte = data[at]
        at += 1
        result |= (byte & 127) << shift
        if byte < 128:
            return result & 0xFFFFFFFFFFFFFFFF, at
    raise _NeitherError


def _fields(data: bytes) -> Iterator[tuple[int, int, bytes | int]]:
    """Number, wire type and content of each field."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if not number or tag >> 32:
            raise _NeitherError
        if kind == 0:
            value, at = _varint(data, at)
            yield number, kind, value
            continue
        if kind == 2:
            length, at = _varint(data, at)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise _NeitherError
        if at + length > len(data):
            raise _NeitherError
        yield number, kind, data[at : at + length]
        at += length
