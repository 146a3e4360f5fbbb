"""The bytes of one file for the checks: as a whole, in blocks, or as a file that can be sought in; and the faults that
they find.

Covers: local files (read or mapped), files elsewhere, members of archives and decompressed streams, all by one
interface; bounded memory: nothing larger than `MOST_WHOLE_BYTES` is ever held as a whole.
Does not cover: what the bytes mean (`file_*.py`).
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import BinaryIO

from crashcart.sound import DAMAGE, Fault, Source

Passing = Callable[[bytes | memoryview], None]

BLOCK_BYTES = 1 << 20
"""Large enough that a call per block costs nothing, small enough to stay in the processor's cache."""
HEAD_BYTES = 4096
MOST_WHOLE_BYTES = 256 << 20
"""What a check may hold of one file at once."""

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+(?=>)")
"""Where an object of ours lay in memory, as libraries put it into their words: it means nothing to a reader."""


class TooLargeError(Exception):
    """The file is larger than a check may hold, and its format cannot be read in parts."""


class Faults:
    """Gathers faults: the first of each kind and weight stays with its place, the others are counted."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[str | int | None]] = {}

    def add(self, kind: str, detail: str, where: str | None = None, weight: str = DAMAGE, count: int = 1) -> None:
        """One more fault."""
        known = self._found.get((kind, weight))
        if known is None:
            self._found[kind, weight] = [_ADDRESS.sub("", detail), where, count]
        else:
            known[2] += count  # type: ignore[operator]

    def take(self, faults: tuple[Fault, ...]) -> None:
        """Faults that were found elsewhere."""
        for fault in faults:
            self.add(fault.kind, fault.detail, fault.where, fault.weight, fault.count)

    def __contains__(self, kind: str) -> bool:
        return any(known == kind for known, _ in self._found)

    @property
    def any_damage(self) -> bool:
        """Whether anything that was found is damage."""
        return any(weight == DAMAGE for _, weight in self._found)

    def all(self) -> tuple[Fault, ...]:
        """Every kind once, damage first."""
        if not self._found:
            return ()
        ranked = sorted(self._found.items(), key=lambda item: item[0][1] != DAMAGE)
        return tuple(Fault(k, str(d), w, weight, int(n or 1)) for (k, weight), (d, w, n) in ranked)  # type: ignore[arg-type]


class Content(AbstractContextManager["Content"]):
    """The bytes of one source. The file is opened once, and closed with the context.

    `passing` is given all bytes in their order while they are read as blocks or into a buffer; `pass_all` gives it the rest."""

    def __init__(self, source: Source, size_bytes: int | None, passing: Passing | None = None) -> None:
        self.path = source.path
        self.local = source.local
        self.size_bytes = size_bytes
        self._file: BinaryIO = source.open()
        self._head: bytes | None = None
        self._passing = passing
        self._begun = False
        self.sought = False
        """Whether somebody read it in an order of their own."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def head(self) -> bytes:
        """The first bytes; all of them where the file is short. A small file is read as a whole at once."""
        if self._head is None:
            small = self.size_bytes is not None and self.size_bytes <= BLOCK_BYTES
            self._head = _read_up_to(self._file, (self.size_bytes or 0) if small else HEAD_BYTES)
        return self._head

    @property
    def short(self) -> bool:
        """Whether the head is all there is."""
        return self.size_bytes is not None and len(self.head) == self.size_bytes

    def whole(self, most_bytes: int = MOST_WHOLE_BYTES) -> bytes:
        """All bytes; raises TooLargeError beyond the limit."""
        if self.short:
            return self.head
        if self.size_bytes is not None and self.size_bytes > most_bytes:
            raise TooLargeError(self.size_bytes)
        data = self.head + _read_up_to(self._file, most_bytes - len(self.head) + 1)
        if len(data) > most_bytes:
            self.sought = True
            raise TooLargeError(len(data))
        self._head, self.size_bytes = data, len(data)
        return data

    def blocks(self, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
        """The bytes from the beginning, in blocks; once."""
        self._begin()
        yield self.head
        if self.short:
            return
        while block := self._file.read(block_bytes):
            if self._passing is not None:
                self._passing(block)
            yield block

    def pass_all(self) -> None:
        """Read what nobody has read, for `passing` alone."""
        self._begin()
        while self._passing is not None and (block := self._file.read(BLOCK_BYTES)):
            self._passing(block)

    def _begin(self) -> None:
        if self._passing is not None and not self._begun:
            self._passing(self.head)
        self._begun = True

    def filler(self) -> Callable[[memoryview], int]:
        """Puts the bytes from the beginning into a buffer, part by part, and says how many; 0 at the end."""
        self._begin()
        start, passing = io.BytesIO(self.head), self._passing

        def fill(view: memoryview) -> int:
            count = start.readinto(view)
            if count:
                return count
            count = _read_into(self._file, view)
            if passing is not None:
                with view[:count] as part:
                    passing(part)
            return count

        return fill

    def seekable(self) -> BinaryIO:
        """A file to seek in: the file itself where it can, otherwise a copy in memory; raises TooLargeError."""
        if self.short:
            return io.BytesIO(self.head)
        if self._file.seekable():
            self.sought = True
            self._file.seek(0)
            return self._file
        return io.BytesIO(self.whole())


def _read_into(file: BinaryIO, view: memoryview) -> int:
    into: Callable[[memoryview], int | None] | None = getattr(file, "readinto", None)
    if into is not None:
        return into(view) or 0
    block = file.read(len(view)) or b""
    view[: len(block)] = block
    return len(block)


def _read_up_to(file: BinaryIO, count_bytes: int) -> bytes:
    """Read until so many bytes are there or the file ends: one `read` may give less."""
    data = file.read(count_bytes) or b""
    if not data or len(data) == count_bytes:
        return data
    parts, missing = [data], count_bytes - len(data)
    while missing > 0 and (data := file.read(missing) or b""):
        parts.append(data)
        missing -= len(data)
    return b"".join(parts)
