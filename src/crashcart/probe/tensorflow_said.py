"""An error of TensorFlow or Keras in one line: the one that says what is wrong.

Covers: the frames that Keras puts around a layer's error ("Exception encountered when calling …"), the stack that TensorFlow puts
in front of one in a graph ("Graph execution error:"), AutoGraph's "in user code:", the names of nodes in front of a message,
colours. Does not cover: where in the user's file it came from (`tensorflow_load`).
"""

from __future__ import annotations

import re

from crashcart.errors import CrashcartError

_MOST = 300
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_NODES = re.compile(r"^(?:\{\{[^}]*\}\}\s*)+")
_FRAME = re.compile(
    r"Exception encountered when calling .*|in user code:|Arguments received by .*|Call arguments received by .*"
    r"|Graph execution error:|Detected at node .*|File \".*\", line \d+, in .*|<stack traces unavailable>"
)
_INFERRED = "Error encountered:"
_NAMED = re.compile(r"\s*([A-Za-z_][\w.]*(?:Error|Exception|Interrupt)): (\S.*)")


def said(error: BaseException) -> str:
    """Its kind, and the line that names the cause."""
    if isinstance(error, CrashcartError):
        return str(error)
    name, words = type(error).__name__, _COLOUR.sub("", str(error))
    if words.lstrip().startswith("in user code:"):  # the cause comes last there, with a kind of its own
        named = [each for each in map(_NAMED.match, words.splitlines()) if each is not None]
        if named:
            name, words = named[-1][1], words[words.rindex(named[-1][2]) :]
    line = _line(words)
    return f"{name}: {line}" if line else name


def _line(words: str) -> str:
    """The first line of what is behind the frames."""
    _, _, inner = words.rpartition(_INFERRED)
    lines = (each.strip() for each in inner.splitlines())
    found = next((each for each in lines if each and not _FRAME.fullmatch(each)), "")
    return _NODES.sub("", found)[:_MOST]
