"""From an instruction of a CPython code object to its source line.

Covers: the location table of Python 3.11 and newer, and the line table of 3.10, as their documentation in CPython's
own sources describes them. Does not cover: columns.
"""

from __future__ import annotations

from collections.abc import Iterator

_NO_LOCATION = 15
_LONG = 14
_NO_COLUMNS = 13
_ONE_LINE = 10


def line_at(table: bytes, first_line: int, offset: int, version: tuple[int, int]) -> int:
    """The line of the instruction at a byte offset; the function's first line where the table does not say."""
    entries = _entries(table, first_line) if version >= (3, 11) else _entries_of_3_10(table, first_line)
    known = first_line
    for start, end, line in entries:
        if line is not None:
            known = line
        if start <= offset < end:
            return known
    return known if offset >= 0 else first_line


def _entries(table: bytes, first_line: int) -> Iterator[tuple[int, int, int | None]]:
    line, start, position = first_line, 0, 0
    while position < len(table):
        code, units = table[position] >> 3 & 15, (table[position] & 7) + 1
        position += 1
        end = start + 2 * units
        if code == _NO_LOCATION:
            yield start, end, None
        else:
            if code in (_LONG, _NO_COLUMNS):
                delta, position = _signed(table, position)
                line += delta
            elif code >= _ONE_LINE:
                line += code - _ONE_LINE
            yield start, end, line
        while position < len(table) and not table[position] & 0x80:
            position += 1
        start = end


def _signed(table: bytes, position: int) -> tuple[int, int]:
    """A variable-length signed number: six bits a byte, the lowest bit of the whole is the sign."""
    value = shift = 0
    while position < len(table):
        byte = table[position]
        value |= (byte & 63) << shift
        position += 1
        shift += 6
        if not byte & 64:
            break
    return (-(value >> 1) if value & 1 else value >> 1), position


def _entries_of_3_10(table: bytes, first_line: int) -> Iterator[tuple[int, int, int | None]]:
    line, start = first_line, 0
    for position in range(0, len(table) - 1, 2):
        units, delta = table[position], int.from_bytes(table[position + 1 : position + 2], "little", signed=True)
        end = start + units
        if delta == -128:
            yield start, end, None
        else:
            line += delta
            yield start, end, line
        start = end
