"""Lines of a log to error records, one line at a time.

Covers: tracebacks of CPython and IPython, whole or headless (a tail), chained, in threads and worker processes, with
messages of many lines; exception groups roughly (the members stand in the group's chain); exceptions in one line.
Does not cover: exceptions that Python says it ignored (they ended nothing), faulthandler's dumps (no exceptions), and
tracebacks joined into one line. Never raises; keeps a bounded number of errors and of lines for each.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from crashcart.evidence import ErrorRecord, Frame
from crashcart.probe import log_grammar as grammar
from crashcart.probe.log_lines import shape_of, without_prefix

ERRORS_KEPT = 200
FRAMES_KEPT = 2_000
MESSAGE_LINES_KEPT = 400
NOISE_TOLERATED = 30
"""Foreign lines inside a traceback (another thread's output) before it is given up."""

_GROUP_LINE = re.compile(r"^\s+(?:\| ?(?P<rest>.*)|\+[-+ ]{2,}(?:\s*\d+\s*-*)?)$")


@dataclass
class _Draft:
    """The error that is being read."""

    type: str = ""
    lines: list[str] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    thread: str | None = None
    ignored: bool = False
    bare: bool = False
    chain: tuple[ErrorRecord, ...] = ()
    line_number: int | None = None
    header: str | None = None
    nested: bool = False
    blank: bool = False
    noise: int = 0


class ErrorReader:
    """Feed it lines, then ask for what it found."""

    def __init__(self, is_own: Callable[[str], bool]) -> None:
        self._is_own = is_own
        self._found: list[ErrorRecord] = []
        self._draft = _Draft()
        self._state: Callable[[int, str], None] = self._idle
        self._prefix = ""
        self._group_start: int | None = None
        self._next_number: int | None = None

    def feed(self, number: int, text: str) -> None:
        """Take the next line. Where lines between were left out, what was being read ends there."""
        if number != (self._next_number or number):
            self._close_group() if self._group_start is not None else self._finish_draft()
        self._next_number = number + 1
        text = self._bare(text)
        if self._group_start is not None:
            match = _GROUP_LINE.match(text)
            if match is None:
                self._close_group()
            elif match["rest"] is None:
                self._finish_draft()
                return
            else:
                text = match["rest"]
        self._state(number, text)

    def finish(self) -> tuple[ErrorRecord, ...]:
        """Everything that was found, in the order of the log."""
        self._close_group() if self._group_start is not None else self._finish_draft()
        return tuple(self._found[-ERRORS_KEPT:])

    def _bare(self, text: str) -> str:
        size = len(self._prefix)
        if size and shape_of(text[:size].rstrip()) == shape_of(self._prefix.rstrip()):
            return text[size:]
        return without_prefix(text)

    def _idle(self, number: int, text: str) -> None:
        if grammar.TRACEBACK in text:
            self._begin_traceback(text)
        elif match := grammar.THREAD.match(text) or grammar.PROCESS.match(text):
            self._draft.thread = match[1]
        elif grammar.IGNORED.match(text):
            self._draft.ignored = True
        elif grammar.CHAIN.match(text):
            self._draft.chain = self._take_last()
        elif grammar.HEADLESS_FRAME.match(text):
            self._state = self._frames
            self._frames(number, text)
        elif grammar.CELL.match(text) or grammar.IPYTHON_CELL_FRAME.match(text):
            self._state = self._cell_frames
            self._cell_frames(number, text)
        elif match := grammar.bare_exception(text.strip()):
            self._draft.bare = True
            self._begin_message(number, match)
        elif text:
            self._draft.ignored = False

    def _begin_traceback(self, text: str) -> None:
        if match := grammar.IPYTHON_HEADER.match(text):
            self._draft.header = match[1].rsplit(".", 1)[-1]
            self._state = self._cell_frames
            return
        before = text[: text.index(grammar.TRACEBACK)]
        if before.strip() == "+ Exception Group":
            self._group_start = len(self._found)
        elif before and not self._prefix:
            self._prefix = before
        if match := grammar.THREAD.match(text):
            self._draft.thread = match[1]
        self._state = self._frames

    def _frames(self, number: int, text: str) -> None:
        draft = self._draft
        if match := grammar.FRAME.match(text):
            self._add_frame(match["file"], int(match["line"]), match["function"] or "<module>")
        elif not text or grammar.MARKERS.match(text) or grammar.REPEATED.match(text):
            return
        elif text[0].isspace():
            self._set_source(text.strip())
        elif match := grammar.exception_after_frames(text):
            self._begin_message(number, match)
        elif grammar.TRACEBACK in text:
            draft.frames.clear()
            self._begin_traceback(text)
        elif grammar.CHAIN.match(text) or draft.noise >= NOISE_TOLERATED:
            self._give_up(number, text)
        else:
            draft.noise += 1

    def _cell_frames(self, number: int, text: str) -> None:
        text = grammar.LINK.sub(r"\1", text)
        if match := grammar.ARROW.match(text):
            self._point_at(int(match["line"]), (match["source"] or "").strip() or None)
        elif match := grammar.CELL.match(text):
            self._add_frame(f"In [{match['cell']}]", int(match["line"] or 0), (match["function"] or "<module>").strip())
        elif (match := grammar.exception_after_frames(text)) and self._ends_cell_frames(match["type"]):
            self._begin_message(number, match)
        elif match := grammar.IPYTHON_FRAME.match(text):
            self._add_frame(match["file"], int(match["line"] or 0), match["function"])
        elif grammar.TRACEBACK in text or grammar.CHAIN.match(text):
            self._give_up(number, text)

    def _ends_cell_frames(self, type_name: str) -> bool:
        name = type_name.rsplit(".", 1)[-1]
        return name == self._draft.header if self._draft.header else name.endswith(("Error", "Exception", "Interrupt"))

    def _message(self, number: int, text: str) -> None:
        if self._belongs(text):
            self._draft.blank = not text
            if text or self._draft.lines:
                self._draft.lines.append(text)
            return
        self._finish_draft()
        self._idle(number, text)

    def _belongs(self, text: str) -> bool:
        """Whether the line still is part of the message."""
        draft = self._draft
        if len(draft.lines) >= MESSAGE_LINES_KEPT:
            return False
        last = next((line for line in reversed(draft.lines) if line), "")
        if grammar.TRACEBACK in text:
            draft.nested = draft.nested or (not draft.blank and grammar.opens_nested(draft.type, last))
            return draft.nested
        if not text:
            return True
        if draft.nested:
            if "[[" in text or grammar.is_log_line(text):
                draft.nested = False
            return not grammar.is_log_line(text)
        if grammar.CHAIN.match(text) or grammar.is_log_line(text):
            return False
        if draft.blank:
            return (not last and not draft.bare) or grammar.is_open(last) or grammar.continues_message(text)
        return not draft.bare or text[0].isspace() or grammar.is_open(last) or grammar.continues_message(text)

    def _begin_message(self, number: int, match: re.Match[str]) -> None:
        draft = self._draft
        draft.type, draft.line_number, draft.blank = match["type"], number, False
        draft.lines = [(match["message"] or "").strip()]
        self._state = self._message

    def _add_frame(self, file: str, line: int, function: str) -> None:
        if len(self._draft.frames) < FRAMES_KEPT:
            self._draft.frames.append(Frame(file, line, function.strip(), own=self._is_own(file)))

    def _set_source(self, source: str) -> None:
        if self._draft.frames and self._draft.frames[-1].source is None:
            self._draft.frames[-1] = replace(self._draft.frames[-1], source=source)

    def _point_at(self, line: int, source: str | None) -> None:
        """IPython marks the line with an arrow below the frame's own header."""
        if self._draft.frames:
            self._draft.frames[-1] = replace(self._draft.frames[-1], line=line, source=source)

    def _give_up(self, number: int, text: str) -> None:
        self._draft = _Draft()
        self._state = self._idle
        self._idle(number, text)

    def _finish_draft(self) -> None:
        draft, self._draft = self._draft, _Draft()
        self._state = self._idle
        if self._group_start is None:
            self._prefix = ""
        if draft.type and not draft.ignored:
            self._found.append(_record(draft))
            if len(self._found) >= 2 * ERRORS_KEPT and self._group_start is None:
                del self._found[:ERRORS_KEPT]

    def _take_last(self) -> tuple[ErrorRecord, ...]:
        if not self._found or self._group_start is not None:
            return ()
        last = self._found.pop()
        return (replace(last, chain=()), *last.chain)

    def _close_group(self) -> None:
        self._finish_draft()
        start, self._group_start = self._group_start or 0, None
        found = self._found[start:]
        if found:
            self._found[start:] = [replace(found[0], chain=(*found[0].chain, *found[1:]))]


def _record(draft: _Draft) -> ErrorRecord:
    return ErrorRecord(
        type=draft.type,
        message="\n".join(draft.lines).strip(),
        frames=tuple(draft.frames),
        thread=draft.thread,
        chain=draft.chain,
        origin="log",
        line_number=draft.line_number,
    )
