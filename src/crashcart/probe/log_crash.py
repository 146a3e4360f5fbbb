"""A native crash as a log quotes it: debuggers' and crash reporters' stacks, and faulthandler's.

Covers: gdb (`#3 0x… in f () from lib.so`), lldb and macOS' reports, glog (`@ 0x… f()`), PyTorch (`frame #0: f + 0x4d (… in
lib.so)`), the block that follows "Fatal Python error".
Does not cover: which signal it was (`log_ending.py`), what the frames mean (the rules).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from crashcart.evidence import Crash, Ending, LogLine, NativeFrame, StackDump
from crashcart.probe.log_lines import without_prefix
from crashcart.probe.python_dump import parse_stacks

_GDB = re.compile(
    r"^#\d{1,4}\s{1,4}(?:0x[0-9a-f]{1,16} in )?(?P<symbol>[^\n]{1,600}?) ?\([^()]{0,300}\)(?: \(\))?(?P<rest>.{0,600})$"
)
_FROM = re.compile(r"\bfrom (?P<library>\S{1,400})")
_CONTINUED = re.compile(r"^\s{2,8}from (?P<library>\S{1,400})\s*$")
_TORCH = re.compile(
    r"^frame #\d{1,4}: (?P<symbol>.{1,600}?) \+ 0x[0-9a-f]{1,16} \(0x[0-9a-f]{1,16} in (?P<library>[^()]{1,400})\)"
)
_LLDB = re.compile(
    r"^\*? ?\s{0,8}frame #\d{1,4}: 0x[0-9a-f]{1,16} (?P<library>[^`\s]{1,200})`(?P<symbol>.{1,300}?)(?: \+ \d+)?$"
)
_APPLE = re.compile(
    r"^\d{1,4}\s{1,8}(?P<library>[\w.+-]{1,100})\s{1,40}0x[0-9a-f]{1,16} (?P<symbol>\S.{0,300}?) \+ \d+"
)
_GLOG = re.compile(r"^\s{0,8}@\s{1,20}0x[0-9a-f]{1,16}\s{1,4}(?P<symbol>\S.{0,300})$")
_FORMS = (_TORCH, _LLDB, _APPLE, _GLOG)
_FATAL = re.compile(r"^(?:Fatal Python error: |Windows fatal exception: )")
_MOST_FRAMES = 200
_LONGEST_DUMP = 4_000


def told_crash(lines: tuple[LogLine, ...], ending: Ending | None, is_own: Callable[[str], bool]) -> Crash | None:
    """The crash that the lines tell of, where the ending is a signal and a stack of it is there."""
    if ending is None or ending.signal is None:
        return None
    frames = tuple(_frames(without_prefix(each.text) for each in lines))[:_MOST_FRAMES]
    python = _python_stacks([without_prefix(each.text) for each in lines], is_own)
    if not frames and python is None:
        return None
    return Crash(pid=None, signal=ending.signal, address=None, code=None, frames=frames, python=python)


def _python_stacks(lines: list[str], is_own: Callable[[str], bool]) -> StackDump | None:
    starts = [number for number, line in enumerate(lines) if _FATAL.match(line)]
    if not starts:
        return None
    text = "\n".join([*lines[starts[-1] : starts[-1] + _LONGEST_DUMP], ""])
    stacks = parse_stacks(text, None, is_own)
    return StackDump(0.0, None, stacks, "fatal") if stacks else None


def _frames(lines: Iterable[str]) -> Iterator[NativeFrame]:
    waiting: NativeFrame | None = None
    for line in lines:
        if waiting is not None and (match := _CONTINUED.match(line)):
            yield NativeFrame(match["library"], waiting.symbol)
            waiting = None
            continue
        if waiting is not None and line.startswith("#"):
            yield waiting
            waiting = None
        frame = _frame(line)
        if frame is not None and frame.library:
            yield frame
        elif frame is not None:
            waiting = frame
    if waiting is not None:
        yield waiting


def _frame(line: str) -> NativeFrame | None:
    if line.startswith("#") and (match := _GDB.match(line)):
        library = _FROM.search(match["rest"])
        return NativeFrame(library["library"] if library else "", _name(match["symbol"]))
    for form in _FORMS:
        if match := form.match(line):
            groups = match.groupdict()
            return NativeFrame(groups.get("library") or "", _name(match["symbol"]))
    return None


def _name(symbol: str) -> str:
    """A function's name without its arguments."""
    return symbol.partition("(")[0].strip()[:200]
