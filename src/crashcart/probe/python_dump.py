"""The stacks that Python's faulthandler wrote on a fatal signal, as evidence.

Covers: dumps of one thread or all, of Python 3.8 to 3.14.
Does not cover: native frames (`crashfile.py`) or whether a line is the user's own (the caller says).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from crashcart.evidence import Frame, Stack

OwnTest = Callable[[str], bool]

_HEADING = re.compile(
    r"^(Current thread|Thread|Stack)\b(?: (0x[0-9a-f]+))?(?: \[([^\]]*)\])?.*\(most recent call first\):$"
)
_FRAME = re.compile(r'^  File "(.*)", line (\d+|\?\?\?) in (.*)$')


def parse_stacks(text: str, main_ident: int | None, is_own: OwnTest) -> tuple[Stack, ...]:
    """All stacks of a dump, outermost frame first. A half-written last line is left out."""
    return tuple(_stacks(text, main_ident, is_own))


def _stacks(text: str, main_ident: int | None, is_own: OwnTest) -> Iterator[Stack]:
    heading: re.Match[str] | None = None
    lines: list[str] = []
    for line in text.split("\n")[:-1]:
        new_heading = _HEADING.match(line)
        if new_heading:
            if heading is not None:
                yield _stack(heading, lines, main_ident, is_own)
            heading, lines = new_heading, []
        else:
            lines.append(line)
    if heading is not None:
        yield _stack(heading, lines, main_ident, is_own)


def _stack(heading: re.Match[str], lines: list[str], main_ident: int | None, is_own: OwnTest) -> Stack:
    word, ident, name = heading.groups()
    main = word == "Stack" or (ident is not None and main_ident is not None and int(ident, 16) == main_ident)
    frames = [_frame(match, is_own) for match in map(_FRAME.match, lines) if match]
    thread = name or ("main" if main else ident or "thread")
    return Stack(thread, tuple(reversed(frames)), main, word in ("Stack", "Current thread"), "  ..." in lines)


def _frame(match: re.Match[str], is_own: OwnTest) -> Frame:
    file, line, function = match.groups()
    file = _unescape(file)
    return Frame(file, int(line) if line.isdigit() else 0, _unescape(function), own=is_own(file))


def _unescape(text: str) -> str:
    r"""Faulthandler writes what is not ASCII as \xNN, \uNNNN or \UNNNNNNNN."""
    if "\\" not in text:
        return text
    return re.sub(
        r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))",
        lambda match: chr(int(next(group for group in match.groups() if group), 16)),
        text,
    )
