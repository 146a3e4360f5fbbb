"""Bytes of a log to text: which encoding they are in, and whether they are text at all.

Covers: UTF-8, UTF-16 and UTF-32 with or without a mark (PowerShell writes UTF-16), the code pages of Windows in western
and Chinese systems, line by line, since one log may hold several.
Does not cover: lines and their order (`log_stream.py`). Never raises on any bytes.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF8, "utf-8"),
)
_PACKED = (
    (b"\x1f\x8b", "gzip", "gunzip -c"),
    (b"BZh", "bzip2", "bunzip2 -c"),
    (b"\xfd7zXZ\x00", "xz", "xz -dc"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zstd -dc"),
    (b"PK\x03\x04", "zip", "unzip -p"),
)
_LOOKED_AT = 64 * 1024
_MOST_CONTROL_FRACTION = 0.03
"""Program output holds tabs, colours and now and then a stray byte; a binary file is full of control characters."""
_CONTROL = bytes(byte for byte in range(32) if byte not in b"\t\n\r\x0b\x0c\x08\x1b\x07")


def packed_as(first: bytes) -> tuple[str, str] | None:
    """The name of the compression and the command that undoes it, where the bytes are a packed file."""
    return next(((name, command) for magic, name, command in _PACKED if first.startswith(magic)), None)


def is_binary(first: bytes) -> bool:
    """Whether the first bytes are no text in any encoding that is known here."""
    head = first[:_LOOKED_AT]
    if not head or wide_encoding(head):
        return False
    return len(head) - len(head.translate(None, _CONTROL)) > _MOST_CONTROL_FRACTION * len(head)


def wide_encoding(first: bytes) -> str | None:
    """The encoding, where the bytes begin with its mark or every second one is zero, as in Windows' own texts."""
    for mark, name in _MARKS:
        if first.startswith(mark):
            return name
    head = first[:_LOOKED_AT]
    if len(head) < 4:
        return None
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros, others = head[start::2], head[1 - start :: 2]
        if zeros.count(0) > 0.8 * len(zeros) and others.count(0) < 0.1 * len(others):
            return name
    return None


def as_utf8(chunks: Iterable[bytes], first: bytes) -> Iterator[bytes]:
    """The chunks as UTF-8 where they are in a wide encoding, else as they are; the mark is left out."""
    name = wide_encoding(first)
    if name in (None, "utf-8"):
        for number, chunk in enumerate(chunks):
            yield chunk.removeprefix(codecs.BOM_UTF8) if number == 0 else chunk
        return
    decoder = codecs.getincrementaldecoder(name or "")("replace")
    for chunk in chunks:
        yield decoder.decode(chunk).lstrip("\ufeff").encode("utf-8", "replace")
    yield decoder.decode(b"", True).encode("utf-8", "replace")


def decode_line(line: bytes) -> str:
    """One line as text: UTF-8, else the Chinese or the western code page of Windows, whichever its bytes fit."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return _chinese(line) or line.decode("cp1252", "replace")


def _chinese(line: bytes) -> str | None:
    """The line in GBK, where all its bytes beyond ASCII come in pairs and give Chinese characters."""
    try:
        text = line.decode("gbk")
    except UnicodeDecodeError:
        return None
    foreign = [letter for letter in text if ord(letter) > 127]
    chinese = [letter for letter in foreign if "\u4e00" <= letter <= "\u9fff" or letter in "，。：“”（）、"]
    return text if len(chinese) >= 2 and len(chinese) == len(foreign) else None
