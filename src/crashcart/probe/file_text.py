"""Text files: encoding, NUL bytes, empty files; then tables (`file_table.py`) and JSON (`file_json.py`) line by line.

Covers: UTF-8 with and without a byte order mark, UTF-16 and UTF-32 by their mark (odd: TensorFlow reads bytes), text of
one byte per character (Latin-1, Windows-1252; odd) told from damage: control characters beside what UTF-8 does not have, or few
such bytes in a text that is UTF-8 otherwise. Read in blocks, so files of any size.
Does not cover: whether the words make sense.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Any

from crashcart.probe.file_content import Faults
from crashcart.probe.file_json import check_json, check_json_lines
from crashcart.probe.file_table import check_table
from crashcart.sound import ODD, Wanted
from crashcart.units import plural

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_INVALID = re.compile("[\udc80-\udcff]")
_BEYOND_ASCII = re.compile("[^\x00-\x7f\udc80-\udcff]")
_ZEROS = bytes(512)
"""A whole sector of zeros: no text holds that, and a crash leaves nothing less."""
_CONTROLS = bytes({*range(32), 0x7F} - set(b"\t\n\r\f\x1b"))
"""No text in any encoding holds these; garbage does."""


def check_text(format: str, blocks: Iterator[bytes], faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """Encoding and number of lines; of tables and JSON also what they hold."""
    text = _Text(blocks, faults, wanted.quick)
    if format in ("csv", "tsv"):
        facts = check_table(format, text.pieces(), faults, wanted)
    elif format == "jsonl":
        facts = check_json_lines(text.pieces(), faults, wanted)
    elif format == "json":
        facts = check_json(text.pieces(), faults, wanted)
    else:
        for _ in text.pieces(decode=False):
            pass
        facts = {}
    text.judge()
    return {"encoding": text.encoding, "lines": text.lines, **facts}


class _Text:
    """Decodes the blocks, and notes what is strange on the way."""

    def __init__(self, blocks: Iterator[bytes], faults: Faults, quick: bool) -> None:
        self._blocks, self._faults, self._quick = blocks, faults, quick
        self.encoding = "ascii"
        self.lines = 0
        self._at = 0
        self._content = False
        self._last = b""
        self._invalid = self._beyond = self._nuls = 0
        self._strange = False
        self._first_invalid: int | None = None
        self._first_nul: int | None = None
        self._zeros: int | None = None

    def pieces(self, decode: bool = True) -> Iterator[str]:
        """The text, in pieces; what cannot be decoded stays as lone surrogates. Without `decode`, ASCII is passed over."""
        decoder: codecs.IncrementalDecoder | None = None
        for block in self._blocks:
            if decoder is None:
                decoder = self._begin(block)
            self._note_bytes(block)
            if decode or self.encoding != "ascii" or not block.isascii():
                yield self._decoded(decoder, block)
            self._at += len(block)
            if self._quick:
                return
        if decoder is not None and self.encoding != "ascii":
            yield self._ending(decoder)

    def _begin(self, block: bytes) -> codecs.IncrementalDecoder:
        named = next((name for mark, name in _MARKS if block.startswith(mark)), None)
        if named == "utf-8-sig":
            self._faults.add(
                "byte-order-mark", "begins with EF BB BF, which stays in the first word or column name", "byte 0", ODD
            )
        elif named is not None:
            self.encoding = named
            self._faults.add(
                "encoding", f"{named.upper()} by its mark; TensorFlow and most readers expect UTF-8", "byte 0", ODD
            )
        errors = "surrogateescape" if named in (None, "utf-8-sig") else "replace"
        return codecs.getincrementaldecoder(named or "utf-8")(errors)

    def _note_bytes(self, block: bytes) -> None:
        if self.encoding not in ("ascii", "utf-8"):
            self._content = True
            return
        self.lines += block.count(b"\n")
        self._last = block[-1:]
        self._content = self._content or bool(block.strip(b" \t\r\n\0\xef\xbb\xbf"))
        if b"\0" in block:
            self._nuls += block.count(b"\0")
            if self._first_nul is None:
                self._first_nul = self._at + block.index(b"\0")
            if self._zeros is None and (place := block.find(_ZEROS)) >= 0:
                self._zeros = self._at + place

    def _decoded(self, decoder: codecs.IncrementalDecoder, block: bytes) -> str:
        text = decoder.decode(block)
        if self.encoding in ("utf-16", "utf-32"):
            self.lines += text.count("\n")
            if "\ufffd" in text:
                self._note_invalid(text.count("\ufffd"), None)
        elif not block.isascii():
            self.encoding = "utf-8"
            self._look_for_invalid(text, block)
        return text

    def _look_for_invalid(self, text: str, block: bytes) -> None:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            before = len(text[: error.start].encode("utf-8", "surrogateescape"))
            self._note_invalid(len(_INVALID.findall(text)), self._at + before)
            self._beyond += len(_BEYOND_ASCII.findall(text))
            self._strange = self._strange or len(block.translate(None, _CONTROLS)) != len(block)
        else:
            self._beyond += 0 if text.isascii() else max(1, (len(block) - len(text)) // 2)

    def _note_invalid(self, count: int, at: int | None) -> None:
        if self._first_invalid is None:
            self._first_invalid = at
        self._invalid += count

    def _ending(self, decoder: codecs.IncrementalDecoder) -> str:
        held = decoder.getstate()[0]
        if len(held) == 1 and self.encoding == "utf-8" and self._invalid * 4 >= self._beyond:
            self._note_invalid(1, self._at - 1)  # nothing else says UTF-8: the last letter in another encoding
        elif held:
            self._faults.add("truncated", f"the file ends inside of a character ({held.hex(' ')})", f"byte {self._at}")
            return ""
        return decoder.decode(b"", True)

    def judge(self) -> None:
        """Faults of the text as a whole."""
        if self._last not in (b"", b"\n"):
            self.lines += 1
        if self._zeros is not None:
            self._faults.add(
                "zero-filled", f"{self._nuls} zero bytes, from byte {self._zeros} on", f"byte {self._zeros}"
            )
        elif self._nuls:
            self._faults.add("nul-bytes", f"{self._nuls} NUL bytes", f"byte {self._first_nul}", count=self._nuls)
        if not self._content and not self._faults.any_damage:
            self._faults.add("no-content", "blanks and line ends alone", weight=ODD)
        if not self._invalid:
            return
        where = f"byte {self._first_invalid}" if self._first_invalid is not None else None
        another = self._invalid * 4 >= self._beyond and not self._strange and not self._nuls
        if another and self.encoding == "utf-8":
            self.encoding = "unknown-8bit"
            detail = (
                f"{plural(self._invalid, 'byte')} that UTF-8 does not have, as in another encoding (Latin-1, Big5…)"
            )
            self._faults.add("encoding", detail, where, ODD, self._invalid)
        else:
            self._faults.add(
                "encoding", f"not valid in {self.encoding}: {plural(self._invalid, 'byte')}", where, count=self._invalid
            )
