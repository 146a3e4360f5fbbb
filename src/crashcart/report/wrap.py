"""Lines that fit a terminal.

Covers: how many columns a text takes, wrapping with a hanging indent, cutting with an ellipsis.
Does not cover: what stands on the lines (`text.py`). Text is expected to be visible and on one line (`safe.flat`).
"""

from __future__ import annotations

import re
import unicodedata

_GLUED = re.compile(r"(?<=\d) (?=(?:[KMGT]iB|B|s|min|h|%)(?:\W|$))")
_GLUE = "\u00a0"
_WORD = re.compile(r"[^ ]+ *")
_AFTER = frozenset("/,;:)]}=&|-_.")


def cells(text: str) -> int:
    """The columns that the text takes on a terminal: two for wide characters, none for combining ones."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def _cell(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def wrap(text: str, width: int, hang: int = 0) -> list[str]:
    """Wrap at spaces; lines after the first are indented by `hang`. A number stays with its unit.

    A word is broken only where it fits no line of its own, and then after a separator if there is one.
    """
    width = max(width, hang + 8)
    lines: list[str] = []
    line = ""
    for word in _WORD.findall(_GLUED.sub(_GLUE, text)):
        if line.strip() and cells(line) + cells(word.rstrip(" ")) > width:
            lines.append(line)
            line = " " * hang
        while cells(line) + cells(word.rstrip(" ")) > width:
            head, word = _broken(word, max(1, width - cells(line)))
            lines.append(line + head)
            line = " " * hang
        line += word
    return [each.rstrip(" ").replace(_GLUE, " ") for each in (*lines, line)]


def _broken(word: str, room: int) -> tuple[str, str]:
    fits = _fitting(word, room)
    for index in range(fits, fits // 2, -1):
        if word[index - 1] in _AFTER:
            return word[:index], word[index:]
    return word[:fits], word[fits:]


def _fitting(text: str, room: int) -> int:
    """How many characters from the start fit into the room; at least one."""
    used = 0
    for index, char in enumerate(text):
        used += _cell(char)
        if used > room:
            return max(1, index)
    return len(text)


def cut(text: str, width: int, ellipsis: str = "…") -> str:
    """The text, or as much of its beginning as fits before an ellipsis."""
    if cells(text) <= width:
        return text
    return text[: _fitting(text, max(1, width - cells(ellipsis)))].rstrip() + ellipsis
