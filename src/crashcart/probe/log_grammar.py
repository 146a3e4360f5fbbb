"""What one line of a printed traceback is: header, frame, source, exception, chain sentence, continuation.

Covers: CPython (3.x and 2.7, with and without markers), IPython and Jupyter in their old and new forms, Colab's links.
Does not cover: how lines join to errors (`log_errors.py`). Patterns are anchored or start with a rare literal, and no
pattern has a repeated group inside a repeat, so that each takes time linear in the line.
"""

from __future__ import annotations

import re

TRACEBACK = "Traceback (most recent call last)"
IPYTHON_HEADER = re.compile(r"^\s*([A-Za-z_][\w.]{1,120}?)\s*Traceback \(most recent call last\)\s*$")
THREAD = re.compile(r"^Exception in thread (.{1,200}?):(?:\s|$)")
PROCESS = re.compile(r"^Process ([\w:-]{1,100}):$")
IGNORED = re.compile(r"^Exception ignored (?:in|on|while)\b")
CHAIN = re.compile(
    r"^(?:The above exception was the direct cause of the following exception"
    r"|During handling of the above exception, another exception occurred)"
)

FRAME = re.compile(
    r'^\s{0,40}File "(?P<file>[^"]{1,1000})", line (?P<line>\d{1,9})(?:, in (?P<function>.{1,300}))?\s*$'
)
HEADLESS_FRAME = re.compile(r'^\s{0,40}File "[^"]{1,1000}", line \d{1,9}(?:, in \S.{0,300})?$')
MARKERS = re.compile(r"^[\s~^]*$")
REPEATED = re.compile(r"^\s*\[Previous line repeated \d+ more time")

CELL = re.compile(
    r"^(?:Cell |Input )?In ?\[(?P<cell>\d{1,9})\](?:, line (?P<line>\d{1,9}))?"
    r"(?:, in (?P<function>[^(]{1,200}))?(?:\(.*)?\s*$"
)
IPYTHON_FRAME = re.compile(
    r"^(?:File )?(?P<file>[^\s\"][^\"]{0,999}?)(?::(?P<line>\d{1,9}),)? in (?P<function>[\w<>.]{1,200}"
    r"|<cell line: \d+>)"
    r"(?:\(.*)?\s*$"
)
IPYTHON_CELL_FRAME = re.compile(
    r"^(?:<ipython-input-[^>]{1,80}>|\S{0,200}ipython-input-\S{1,80}|<timed \w+>|\S{1,400}\.pyc?) in [\w<]"
)
ARROW = re.compile(r"^-{1,6}>\s{0,3}(?P<line>\d{1,9})(?:\s(?P<source>.*))?$")
LINK = re.compile(r"^\[([^\]]{1,500})\]\([^)]{0,500}\)")

_NAME = r"(?:[A-Za-z_]\w{0,100}\.){0,12}[A-Za-z_]\w{0,120}"
EXCEPTION = re.compile(
    rf"^(?P<type>{_NAME})(?:\([\w.]{{1,100}}\))?(?: \(see above for traceback\))?(?::(?:\s(?P<message>.*))?)?$"
)
_BARE = re.compile(
    r"^(?P<type>(?:[A-Za-z_]\w{0,100}\.){0,12}(?:[A-Za-z_]\w{0,110}(?:Error|Exception|Interrupt|Iteration|Exit)))"
    r"(?: \(see above for traceback\))?:\s(?P<message>.*\S.*)$"
)
_FROM_MODULE = re.compile(
    r"^(?P<type>(?=[\w.]{0,200}(?:exception|error|_Rendezvous))(?:[a-z_]\w{0,100}\.){1,12}(?:_?[A-Z]\w{0,120}|error))(?::\s(?P<message>.*\S.*)|(?P<bare>))$"
)
"""A name with its module, which no ordinary output begins with, needs neither the usual ending nor words."""
_ARGPARSE = re.compile(r"^(?:usage: )?[\w./-]{1,200}\.py: (?P<type>error): (?P<message>.*\S.*)$")
_WORDLESS = frozenset({"MemoryError", "KeyboardInterrupt", "StopIteration", "RecursionError", "AssertionError"})
_KNOWN_LOWER = frozenset({"error", "timeout", "herror", "gaierror", "Fault"})

_LOG_LINE = re.compile(
    r"^(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d|[IWEF]\d{4} \d\d:\d\d|[IWEF] \S+\.cc:\d+\]|\[?\d\d:\d\d:\d\d"
    r"|(?:INFO|WARNING|ERROR|DEBUG|CRITICAL)\b[:\s]|Epoch \d|Step \d|\d{1,9}/(?:\d{1,9}|Unknown)\b|\$ |>>> |In \[\d"
    r"|-{20}"
    r"|Process finished|Killed|Aborted|Bus error|Segmentation fault|Illegal instruction|terminate called"
    r"|Fatal Python error|The kernel appears|Exception (?:ignored|in thread)|Process [\w:-]+:$|OMP: )"
)
_CONTINUES = re.compile(
    r"^(?:\s+\S|Detected at node|Original stack trace|Errors may have|Input Source operations|Function call stack"
    r"|Arguments received by|Call arguments received|Caused by op|Hint:|\(\d+\) |\d+ (?:successful|derived) "
    r"|Stack trace for op|Node: |List of objects|<stack traces unavailable>|Original error:|Full object config"
    r"|[A-Za-z]\w{0,80} \(see above for traceback\)|!!! |See |For more|Please |If you |To |The (?!above))"
)
_OPEN = re.compile(
    r"(?:Graph execution error:|<stack traces unavailable>|Detected at node .*|in user code:"
    r"|Exception encountered when calling .*|root error\(s\) found\."
    r"|^Node: '[^']{0,400}'|Original error:|defined at.*:|Example error message for object .*)\s*$"
)
_STATUS_ERRORS = re.compile(
    r"(?:^|\.)(?:InvalidArgument|Unknown|Internal|Unimplemented|NotFound|OutOfRange|FailedPrecondition)Error$"
)
_NESTED = re.compile(r"(?:^|[\s}])[A-Za-z_]\w{2,80}(?::\s|:?$)")


def exception_after_frames(text: str) -> re.Match[str] | None:
    """The line that ends a traceback: a type, and mostly a message."""
    match = EXCEPTION.match(text)
    if match is None or _LOG_LINE.match(text):
        return None
    module, _, name = match["type"].rpartition(".")
    fits = name[0].isupper() or name.startswith("_") or bool(module and (name in _KNOWN_LOWER or name[0].isupper()))
    return match if fits else None


def bare_exception(text: str) -> re.Match[str] | None:
    """An exception in one line that no traceback precedes. `Error: …` alone is other programs' habit, not Python's."""
    if text in _WORDLESS:
        return EXCEPTION.match(text)
    match = _BARE.match(text) or _FROM_MODULE.match(text) or _ARGPARSE.match(text)
    return match if match and match["type"] != "Error" else None


def is_log_line(text: str) -> bool:
    """Whether the line begins something of its own: a log record, a prompt, a progress line, the shell's last word."""
    return _LOG_LINE.match(text) is not None


def continues_message(text: str) -> bool:
    """Whether a line after a blank one still belongs to the message of a framework."""
    return _CONTINUES.match(text) is not None


def is_open(last_line: str) -> bool:
    """Whether the message so far ends in a way that promises more after a blank line."""
    return _OPEN.search(last_line) is not None or FRAME.match(last_line) is not None


def opens_nested(type_name: str, last_line: str) -> bool:
    """Whether a traceback that follows is part of the message: a framework quoting what the user's function raised."""
    if last_line.startswith("Caught ") and " in DataLoader worker" in last_line:
        return True
    return _STATUS_ERRORS.search(type_name) is not None and _NESTED.search(last_line) is not None
