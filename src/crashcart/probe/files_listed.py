"""Names of files from a list: one on each line, NUL between them (`find -print0`), or JSON lines.

Covers: lists of any length, read in blocks; names of any bytes; `-` for what comes in on stdin. JSON lines hold a
string, or an object with `path` (as `--out` and `--good` write them).
Does not cover: whether the files are there. A relative name is relative to the working directory, as for any program.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import BinaryIO

from crashcart.errors import CannotCheckError

_BLOCK_BYTES = 1 << 16
# The longest path that Linux takes has 4096 bytes; JSON may spell each with six. Longer lines are no names.
_MOST_NAME_BYTES = 1 << 15


def names_in(list_file: str) -> Iterator[str]:
    """The names, in their order; empty lines are none. CannotCheckError where the list cannot be read, or is no
    list.
    """
    try:
        if list_file == "-":
            yield from _names(sys.stdin.buffer, list_file)
            return
        with open(list_file, "rb") as file:
            yield from _names(file, list_file)
    except OSError as error:
        raise CannotCheckError(f"cannot read the list {list_file}: {error.strerror}", "Name another list.") from error


def _names(file: BinaryIO, list_file: str) -> Iterator[str]:
    for name in _pieces(file, list_file):
        if list_file.endswith(".jsonl"):
            yield _of_json(name, list_file)
        else:
            yield os.fsdecode(name)


def _pieces(file: BinaryIO, list_file: str) -> Iterator[bytes]:
    """The list cut at its separators: NUL where the first block has one, else the ends of lines."""
    block = file.read(_BLOCK_BYTES)
    mark = b"\0" if b"\0" in block else b"\n"
    rest = b""
    while block:
        *whole, rest = (rest + block).split(mark)
        yield from (each for each in map(_bare if mark == b"\n" else bytes, whole) if each)
        if len(rest) > _MOST_NAME_BYTES:
            raise CannotCheckError(f"{list_file} is no list of files: it has a line of over {_MOST_NAME_BYTES} bytes")
        block = file.read(_BLOCK_BYTES)
    if rest := _bare(rest) if mark == b"\n" else rest:
        yield rest


def _bare(line: bytes) -> bytes:
    return line.rstrip(b"\r")


def _of_json(line: bytes, list_file: str) -> str:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise CannotCheckError(
            f"a line of {list_file} is not JSON: {error}", "Expected a string on each line."
        ) from error
    name = value.get("path") if isinstance(value, dict) else value
    if not isinstance(name, str):
        raise CannotCheckError(f"a line of {list_file} names no file", 'Expected a string, or an object with "path".')
    return name
