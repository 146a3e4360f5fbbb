"""The Python stacks of another process, read from its memory without touching it.

Covers: CPython 3.10 to 3.13 (with the GIL, 64 bit, not a debug build): which function of which file each thread is in,
and the line. The process is not stopped, signalled or slowed; it does not even notice.
Does not cover: native frames, other interpreters. Every stack is read twice; of one that changes meanwhile only the outer
frames that both readings show are given.

Why not ask the process: faulthandler walks the frames inside a signal handler, and a frame that is being pushed or
popped at that moment is a segmentation fault of the program (measured with Python 3.11: one in some 2000 requests).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from crashcart.probe.line_table import line_at

MOST_FRAMES = 1100
MOST_THREADS = 64
TRIES = 8
_POINTER = struct.Struct("<Q")

FrameFacts = tuple[str, int, str]
"""File, line, function."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where one version of CPython keeps what we read; offsets in bytes, from its own headers."""

    frame_in_thread: int
    """The thread's newest frame, or the C frame that points to it."""
    through_c_frame: int | None
    """The offset within the C frame; None where the thread points to the frame itself."""
    back: int
    code: int
    instruction: int
    frame_bytes: int
    first_line: int
    file: int
    name: int
    lines: int
    code_bytes: int | None
    """Where the instructions begin within the code object; None where the frame keeps an index (3.10)."""
    text_ascii: int
    text_other: int


_LAYOUTS = {
    (3, 10): Layout(24, None, 24, 32, 96, 104, 40, 104, 112, 120, None, 48, 72),
    (3, 11): Layout(56, 8, 48, 32, 56, 72, 72, 112, 120, 136, 184, 48, 72),
    (3, 12): Layout(56, 0, 8, 0, 56, 72, 68, 112, 120, 136, 192, 40, 56),
    (3, 13): Layout(72, None, 8, 0, 56, 72, 68, 112, 120, 136, 200, 40, 56),
}


class _ChangedError(Exception):
    """What was read makes no sense: it changed under our eyes."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """What the hook tells of its own interpreter."""

    version: tuple[int, int]
    thread_state: int
    """The address of the main thread's state."""
    code_type: int
    """The address of the type of code objects, by which one is recognised."""
    code_bytes: int
    """The size of a code object without its instructions."""


class PythonStackReader:
    """Reads the stacks of one process."""

    def __init__(self, pid: int, interpreter: Interpreter, root: Path = Path("/")) -> None:
        self._interpreter = interpreter
        self._layout = _LAYOUTS.get(interpreter.version)
        self._codes: dict[int, tuple[bytes, _Code]] = {}
        self.unreadable: str | None = None
        self._memory: int | None = None
        if self._layout is None:
            self.unreadable = f"the stacks of Python {interpreter.version[0]}.{interpreter.version[1]} are not known"
            return
        try:
            self._memory = os.open(root / f"proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            self.unreadable = f"the program's memory may not be read: {error.strerror}"

    def main_thread(self) -> list[FrameFacts] | None:
        """The frames of the main thread, innermost first."""
        for _ in range(TRIES):
            try:
                return self._confirmed(self._interpreter.thread_state)
            except (_ChangedError, OSError, UnicodeDecodeError):
                continue
        return None

    def other_threads(self) -> list[list[FrameFacts]]:
        """The frames of each other thread whose stack could be read, innermost first."""
        found = []
        for state in self._thread_states():
            try:
                frames = self._confirmed(state)
            except (_ChangedError, OSError, UnicodeDecodeError):
                continue
            if frames:
                found.append(frames)
        return found

    def close(self) -> None:
        """Give the descriptor back."""
        if self._memory is not None:
            os.close(self._memory)
            self._memory = None

    def _read(self, address: int, size: int) -> bytes:
        if self._memory is None or not 4096 <= address < 1 << 56:
            raise _ChangedError
        content = os.pread(self._memory, size, address)
        if len(content) != size:
            raise _ChangedError
        return content

    def _pointer(self, address: int) -> int:
        return int(_POINTER.unpack(self._read(address, 8))[0])

    def _thread_states(self) -> Iterator[int]:
        """The threads form a list in both directions around the main thread's state."""
        for link in (0, 8):
            state = self._interpreter.thread_state
            for _ in range(MOST_THREADS):
                try:
                    state = self._pointer(state + link)
                except (_ChangedError, OSError):
                    break
                if not state:
                    break
                yield state

    def _confirmed(self, thread_state: int) -> list[FrameFacts]:
        """The frames that two readings in a row agree on, from the outermost inwards.

        A chain that is read while functions return and others are called shows calls that never were; the inner frames
        that changed between the readings are left out.
        """
        first = list(self._frames(thread_state))
        second = [(address, code) for address, code, _ in self._frames(thread_state)]
        agreed: list[FrameFacts] = []
        for (address, code, facts), again in zip(reversed(first), reversed(second), strict=False):
            if (address, code) != again:
                break
            if facts is not None:
                agreed.append(facts)
        if first and not agreed:
            raise _ChangedError
        return agreed[::-1]

    def _frames(self, thread_state: int) -> Iterator[tuple[int, int, FrameFacts | None]]:
        """Each frame from the innermost outwards: its address, its code's, and what it runs (None for no Python code)."""
        layout = self._layout
        if layout is None:
            raise _ChangedError
        frame = self._pointer(thread_state + layout.frame_in_thread)
        if layout.through_c_frame is not None:
            frame = self._pointer(frame + layout.through_c_frame)
        for _ in range(MOST_FRAMES):
            if not frame:
                return
            content = self._read(frame, layout.frame_bytes)
            code_address = _POINTER.unpack_from(content, layout.code)[0]
            code = self._code(code_address)
            yield frame, code_address, self._facts(code, content) if code is not None else None
            frame = _POINTER.unpack_from(content, layout.back)[0]
        raise _ChangedError

    def _facts(self, code: _Code, frame: bytes) -> FrameFacts:
        layout = self._layout
        assert layout is not None
        if layout.code_bytes is None:
            offset = 2 * struct.unpack_from("<i", frame, layout.instruction)[0]
        else:
            offset = _POINTER.unpack_from(frame, layout.instruction)[0] - code.instructions
        if not -2 <= offset < 1 << 24:
            raise _ChangedError
        line = line_at(code.lines, code.first_line, offset, self._interpreter.version)
        return code.file, line, code.name

    def _code(self, address: int) -> _Code | None:
        """A code object, from memory or as it was read before; None for a frame that runs no Python code."""
        layout = self._layout
        assert layout is not None
        size = layout.lines + 8
        head = self._read(address, size)
        if _POINTER.unpack_from(head, 8)[0] != self._interpreter.code_type:
            return None
        known = self._codes.get(address)
        if known is not None and known[0] == head[16:]:
            return known[1]
        code = self._read_code(address, head)
        if len(self._codes) > 1000:
            self._codes.clear()
        self._codes[address] = (head[16:], code)
        return code

    def _read_code(self, address: int, head: bytes) -> _Code:
        layout = self._layout
        assert layout is not None
        file, name, lines = (
            _POINTER.unpack_from(head, offset)[0] for offset in (layout.file, layout.name, layout.lines)
        )
        first_line = struct.unpack_from("<i", head, layout.first_line)[0]
        begin = address + (self._interpreter.code_bytes if layout.code_bytes is not None else 0)
        return _Code(self._text(file), self._text(name), first_line, self._bytes(lines), begin)

    def _bytes(self, address: int) -> bytes:
        size = self._pointer(address + 16)
        if size > 1 << 20:
            raise _ChangedError
        return self._read(address + 32, size) if size else b""

    def _text(self, address: int) -> str:
        layout = self._layout
        assert layout is not None
        length, _, state = struct.unpack("<QqI", self._read(address + 16, 20))
        kind, compact, ascii_only = state >> 2 & 7, state >> 5 & 1, state >> 6 & 1
        if length > 4096 or not compact or kind not in (1, 2, 4):
            raise _ChangedError
        start = address + (layout.text_ascii if ascii_only else layout.text_other)
        encoding = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}[kind]
        return self._read(start, length * kind).decode(encoding)


@dataclass(frozen=True, slots=True)
class _Code:
    file: str
    name: str
    first_line: int
    lines: bytes
    instructions: int
