"""Text that came from a program, made harmless to show.

Covers: terminal sequences (dropped), control and invisible characters (made visible), overlong text (shortened), plain
ASCII for terminals that have nothing else.
Does not cover: escaping for HTML, which is jinja2's (`html.py`), and redacting secrets, which is done at the source.
"""

from __future__ import annotations

import re

_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor moves
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS…: titles, links, clipboard
)
# Controls, what turns the reading direction, what takes no room at all, and halves of a surrogate pair. The two joiners
# (U+200C, U+200D) stay: several scripts and emoji need them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e007f\ud800-\udfff]"
)
_ASCII = str.maketrans(
    {
        "…": "...", "–": "-", "—": "-", "−": "-", "‘": "'", "’": "'", "“": '"', "”": '"', "×": "x", "·": "-",
        "→": "->", "←": "<-", "≤": "<=", "≥": ">=", "≈": "~", "\u00a0": " ",
    }
)  # fmt: skip


def visible(text: str) -> str:
    """The text with terminal sequences dropped and unseen characters spelled out; newlines and tabs stay."""
    return _UNSEEN.sub(_spelled, _SEQUENCE.sub("", text).replace("\r\n", "\n"))


def _spelled(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def flat(text: str) -> str:
    """The text, visible, on one line: each run of white space is one space."""
    return " ".join(visible(text).split())


def last_state(line: str) -> str:
    """What a terminal would show of a line that was rewritten with carriage returns (a progress bar)."""
    return line.replace("\b", "").rstrip("\r\n").rsplit("\r", 1)[-1]


def bounded(text: str, most_chars: int) -> str:
    """The text, or its beginning and its end with a word on how much was left out between."""
    if len(text) <= most_chars:
        return text
    tail = most_chars // 4
    left_out = len(text) - most_chars
    return f"{text[: most_chars - tail]} … ({left_out:,} characters left out) … {text[-tail:]}"


def ascii_only(text: str) -> str:
    """The text in ASCII: common signs as their look-alikes, anything else as an escape."""
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")
