"""A log of any size as evidence: its head, its tail, and from between the lines that speak of a failure.

Covers: files and pipes of any length in one pass, with memory that does not grow with them; line numbers of the whole;
lines without an end; files that end their lines with carriage returns alone.
Does not cover: what lines mean (`log_errors.py`, the rules).

How the middle is thinned out: a line counts once by its shape, which is the line without its digits. A new shape that
announces an end is kept with the lines around it (a traceback stands before its exception), one that may only speak of a
failure is kept alone. A progress line of which only the numbers change costs one look-up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

from crashcart.evidence import Log, LogLine
from crashcart.probe.log_lines import LONGEST_LINE, clean
from crashcart.probe.log_text import as_utf8, decode_line
from crashcart.probe.log_words import LOUD, QUIET

CHUNK_BYTES = 1 << 20
HEAD_LINES = 2_000
TAIL_LINES = 4_000
LOUD_LINES = 4_000
QUIET_LINES = 1_000
"""Lines kept from between head and tail; what comes after them is left out, since roots come early."""
LINES_BEFORE = 40
LINES_AFTER = 8
SHAPES_KNOWN = 100_000
_LONGEST_REST = 4 * LONGEST_LINE
_LONGEST_SHAPE = 512
_FEW_LINES = 256
"""A piece of a megabyte with more lines than this is left as it is: the tail then holds at most sixteen of them."""
_DIGITS = b"0123456789."
_FOLD = bytes(range(256)).lower()


def log_of(chunks: Iterator[bytes]) -> Log:
    """The log that arrives in pieces, in whatever encoding."""
    first = next(chunks, b"")
    reader = LogReader()
    for piece in as_utf8(chain([first], chunks), first):
        reader.feed(piece)
    return reader.finish()


@dataclass
class LogReader:
    """Feed it pieces of bytes, then ask for the log."""

    _head: list[bytes] = field(default_factory=list)
    _tail: deque[bytes] = field(default_factory=lambda: deque(maxlen=TAIL_LINES))
    _middle: dict[int, bytes] = field(default_factory=dict)
    _loud_left: int = LOUD_LINES
    _quiet_left: int = QUIET_LINES
    _shapes: set[bytes] = field(default_factory=set)
    _rest: bytes = b""
    _newline: bytes = b""
    _lines: int = 0
    _bytes: int = 0

    def feed(self, piece: bytes) -> None:
        """Take the next piece."""
        self._bytes += len(piece)
        if not self._newline and piece:
            self._newline = b"\r" if b"\n" not in piece and b"\r" in piece else b"\n"
        if self._newline == b"\r":
            piece = piece.replace(b"\n", b"\r")
        whole = self._rest + piece
        lines = whole.split(self._newline or b"\n")
        self._rest = _bounded(lines.pop())
        if lines:
            self._take(lines, whole)

    def finish(self) -> Log:
        """Everything that was kept, in order, with the numbers that the lines have in the whole."""
        if self._rest:
            self._take([self._rest], self._rest)
            self._rest = b""
        first_of_tail = self._lines - len(self._tail) + 1
        kept = dict(enumerate(self._head, start=1)) | self._middle | dict(enumerate(self._tail, start=first_of_tail))
        lines = tuple(LogLine(number, clean(decode_line(_bounded(kept[number])))) for number in sorted(kept))
        held = sum(map(len, kept.values())) + len(kept)
        return Log(lines, dropped_bytes=max(0, self._bytes - held) if self._lines > len(kept) else 0)

    def _take(self, lines: list[bytes], whole: bytes) -> None:
        """Take whole lines, and the piece that they stand in (where a half line may follow them)."""
        if len(lines) < _FEW_LINES:
            lines = list(map(_bounded, lines))
        room = HEAD_LINES - len(self._head)
        if room > 0:
            self._head.extend(lines[:room])
        if self._lines + len(lines) > HEAD_LINES and (self._loud_left > 0 or self._quiet_left > 0):
            self._keep_telling(lines, whole)
        self._lines += len(lines)
        self._tail.extend(lines[-TAIL_LINES:])

    def _keep_telling(self, lines: list[bytes], whole: bytes) -> None:
        """Keep the new shapes that speak of a failure, the loud ones with the lines around them."""
        shapes = whole.translate(_FOLD, _DIGITS).split(self._newline or b"\n")[: len(lines)]
        new = set(shapes) - self._shapes
        if len(self._shapes) < SHAPES_KNOWN:
            self._shapes.update(shape for shape in new if len(shape) <= _LONGEST_SHAPE)
        text = b"\n".join(new)
        for index in _places(shapes, new, [word for word in LOUD if word in text]) if self._loud_left > 0 else ():
            if self._loud_left > 0:
                self._loud_left -= self._keep(range(index - LINES_BEFORE, index + LINES_AFTER + 1), lines)
        for index in _places(shapes, new, [word for word in QUIET if word in text]) if self._quiet_left > 0 else ():
            if self._quiet_left > 0:
                self._quiet_left -= self._keep(range(index, index + 1), lines)

    def _keep(self, places: range, lines: list[bytes]) -> int:
        """Keep the lines at these places (below 0: of the piece before); returns how many were new."""
        before = len(self._middle)
        for place in places:
            line = lines[place] if 0 <= place < len(lines) else self._before(place)
            if line is not None:
                self._middle.setdefault(self._lines + place + 1, line)
        return len(self._middle) - before

    def _before(self, offset: int) -> bytes | None:
        """A line of the piece before: -1 is its last."""
        return self._tail[offset] if offset < 0 and -offset <= len(self._tail) else None


def _places(shapes: list[bytes], new: set[bytes], words: list[bytes]) -> list[int]:
    """Where the new shapes stand that have one of the words in them, each at its first place."""
    telling = {shape for shape in new if any(word in shape for word in words)} if words else set()
    if not telling:
        return []
    first = {shape: index for index, shape in reversed(list(enumerate(shapes))) if shape in telling}
    return sorted(first.values())


def _bounded(line: bytes) -> bytes:
    """A line that is no longer than what is kept of one; of a progress bar, its last states."""
    if len(line) <= _LONGEST_REST:
        return line
    if b"\r" in line[-_LONGEST_REST:]:
        return line[-_LONGEST_REST:]
    return line[:_LONGEST_REST]
