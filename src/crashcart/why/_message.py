"""The anatomy of a framework's error message: what it says, and apart from that the node, op and frames it names.

Covers: TensorFlow 1 (`[[Node: …]]`, "Caused by op", "Original stack trace"), TensorFlow 2 ("Graph execution error",
"Detected at node", `{{function_node …}}`, errors quoted from a py_function), AutoGraph ("in user code"), Keras 2 and 3
("Exception encountered when calling").
Does not cover: what kind of failure the words state (`_wordings.py`). Text without such parts comes back as it was.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from crashcart.evidence import Frame

_ANSI = re.compile(r"\x1b\[[0-9;]{0,16}[A-Za-z]")
_FRAME = re.compile(r'^\s*File "([^"]+)", line (\d+)(?:, in ([^\n*]+?))?\s*\**\s*$')
_DEFINED_AT = re.compile(r"\(defined at ([^\s()][^()]{0,300}?):(\d+)\)")
_NODE = re.compile(
    r"(?:\{\{node ([^}\s]+)\}\}|\[\[node ([^\s\]]+)|\[\[Node: (\S+) = |Detected at node '?([^\s']+)"
    r"|Caused by op '?([^\s',]+)|Original stack trace for '([^']+)'|^Node: '([^']+)')"
)
_OP_OF_NODE = re.compile(r"(?:\[\[Node: \S+ = |\}\} = )([A-Z]\w{0,80})\[")
_OP = re.compile(r"\[Op:([A-Za-z]\w{0,120})\]")
_WRAPPED = re.compile(r"\{\{function_node __wrapped__([A-Za-z][A-Za-z0-9]*)")
_FUNCTION_NODE = re.compile(r"\{\{function_node [^}]{0,2000}\}\}")
_NODE_NAME = re.compile(r"\{\{node ([^}]{1,500})\}\}")
_BRACKETS = re.compile(r"\s{0,8}\[\[(?:\{\{|node |Node: |[A-Za-z][\w/.]*\]).*$")
_TRAILER = re.compile(r"\s{0,8}\[Op:[^\]]{1,200}\].*$")
_STAGE = re.compile(r"Error in user-defined function passed to .{1,300}? transformation with iterator: \S+: ?")
_STATUS = re.compile(
    r"^\s*(?:\(\d+\)\s*)?(?:(?:INVALID_ARGUMENT|Invalid argument|UNKNOWN|Unknown|INTERNAL|Internal|NOT_FOUND|Not found"
    r"|UNIMPLEMENTED|Unimplemented|FAILED_PRECONDITION|Failed precondition|CANCELLED|Cancelled|ABORTED|Aborted): *)"
)
_NUMBERED = re.compile(r"^\s*\(\d+\)\s*")
_QUOTED = re.compile(
    r"^\s*((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Iteration|Interrupt|Exit|Warning)): ?(.*)$"
)
_INFERRING = re.compile(r"^Could not automatically infer the output shape .{0,600}?Error encountered:\s*")
_DROP = re.compile(
    r"^\s{0,80}(?:Graph execution error:|in user code:|Traceback \(most recent call last\):|<stack traces unavailable>"
    r"|Original Traceback .*|Caught \w+ in \w+ .*|Exception encountered when calling .*"
    r"|\d+ root error\(s\) found\.?|\d+ (?:successful operations|derived errors).*"
    r"|Detected at node .*|Caused by op .*|Original stack trace for .*|Node: '.*|Hint: .*|During handling of .*"
    r"|The above exception was .*|[~^][\s~^]*|)$"
)
_END = re.compile(
    r"^\s*(?:Arguments received by |Call arguments received|Errors may have originated|Function call stack:)"
)
_REPEATED = re.compile(r"^\w+ \(see above for traceback\): ?")
_OWN_NOT = re.compile(
    r"site-packages|dist-packages|[/\\]lib[/\\]python\d|[/\\]lib64[/\\]python\d|^<frozen|__autograph_generated|\.pyx$"
    r"|[/\\]tensorflow(?:_core)?[/\\]python[/\\]|[/\\]lib[/\\](?:threading|contextlib|runpy|multiprocessing)\b",
    re.IGNORECASE,
)
LONGEST_CORE = 4_000


@dataclass(frozen=True, slots=True)
class Message:
    """A message taken apart. `core` is what it says; `told` are the frames it names, outermost first."""

    core: str
    quoted_type: str | None = None
    """The type of an exception that the message quotes: what the user's own function raised inside the graph."""
    node: str | None = None
    op: str | None = None
    told: tuple[Frame, ...] = ()

    def own_frame(self) -> Frame | None:
        """The deepest frame of the user's own code that the message names."""
        return next((frame for frame in reversed(self.told) if frame.own), None)


def looks_own(file: str) -> bool:
    """Whether a path is the user's own code, judged by its name alone (a message carries nothing more)."""
    return not _OWN_NOT.search(file)


def take_apart(message: str) -> Message:
    """Split a message into what it says and what it names."""
    text = _ANSI.sub("", message[: 16 * LONGEST_CORE])
    core, told, quoted = _read_lines(text.splitlines())
    node = _first(_NODE, text)
    op = _first(_WRAPPED, text) or _first(_OP_OF_NODE, text) or _real_op(_first(_OP, text))
    return Message("\n".join(core)[:LONGEST_CORE].strip(), quoted, node, op, (*told, *_defined_at(text)))


def _read_lines(lines: list[str]) -> tuple[list[str], list[Frame], str | None]:
    core: list[str] = []
    told: list[Frame] = []
    quoted: str | None = None
    after_frame = False
    for line in lines:
        if _END.match(line):
            break
        if match := _FRAME.match(line):
            told.append(Frame(match[1], int(match[2]), (match[3] or "<module>").strip(), own=looks_own(match[1])))
            after_frame = True
        elif after_frame and line[:4].isspace() and not _QUOTED.match(line):
            told[-1] = told[-1] if told[-1].source or not line.strip(" ~^") else replace(told[-1], source=line.strip())
        elif _DROP.match(line):
            continue
        else:
            after_frame = False
            words, inner = _words(line)
            quoted = quoted or inner
            if words and words not in core:
                core.append(words)
    return core, told, quoted


def _words(line: str) -> tuple[str, str | None]:
    """One line without decoration, and the type of an exception it quotes."""
    line = _NODE_NAME.sub(r"\1", _BRACKETS.sub("", _FUNCTION_NODE.sub("", line)))
    line = _INFERRING.sub("", _STAGE.sub("", _TRAILER.sub("", line)))
    line = _REPEATED.sub("", _NUMBERED.sub("", _STATUS.sub("", line))).strip()
    if match := _QUOTED.match(line):
        return match[2].strip(), match[1].rsplit(".", 1)[-1]
    return line, None


def _defined_at(text: str) -> list[Frame]:
    return [
        Frame(match[1], int(match[2]), "<module>", own=looks_own(match[1])) for match in _DEFINED_AT.finditer(text)
    ][:1]


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return next((group for group in match.groups() if group), None) if match else None


def _real_op(op: str | None) -> str | None:
    return None if op is None or op.startswith("__") else op
