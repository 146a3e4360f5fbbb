"""W203 native-code-aborted."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator

from crashcart.evidence import Crash, Ending, Log, Program, StackDump
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.why._crash import core_words, crash_place, crashed_pid, native_words, python_words, sent_from_outside
from crashcart.why._told import told_crashes
from crashcart.why._words import quoted, signal_of, who

_CHECK = re.compile(
    r"Check failed:|CHECK failed|^F\d{4} |: F [\w/.]+:\d+\]|^F [\w/.]+\.cc:\d+\]|Assertion [`'].*failed|terminate called|"
    r"^Fatal Python error|\bAssertion failed\b|panicked at"
)
_HEAP = re.compile(r"free\(\)|malloc\(\)|double free|corrupted|realloc\(\)|munmap_chunk|invalid pointer|invalid size")
_OVERRUN = "a native library wrote past its memory: check the sizes handed to native calls (ctypes, extensions) up to that line"
_READ_CHECK = "read the check above: it names the condition on the arguments that did not hold at that line"


@rule("W203", "native-code-aborted", Rank.MECHANISM)
def native_code_aborted(
    ending: Ending,
    program: Program | None = None,
    crash: Crash | None = None,
    stacks: tuple[StackDump, ...] | None = None,
    log: Log | None = None,
) -> Iterator[Finding]:
    """Native code found something that must not be, and ended the program itself.

    ## What it means

    A library calls abort() when one of its own checks fails (`Check failed: …` in TensorFlow), when a C++ exception goes
    uncaught, or when the C library finds the heap damaged. No Python exception can come of it.

    ## How we know

    The end was SIGABRT. The check that failed stands in the program's last output or in the C library's own message; the
    line is from Python's stack at that moment.

    ## What to do

    Read the check: it names the condition that did not hold, mostly about an argument (a size, a type, an index). For a
    damaged heap the culprit is the last native library that was given wrong sizes, often earlier than the named line.
    """
    number = signal_of(ending) or 0
    if number != signal.SIGABRT or sent_from_outside(crash):
        return
    message = crash.message if crash is not None else None
    check = _last_check(log)
    where = crash_place(crash, stacks, program, ending)
    words = (*native_words(crash), *python_words(crash, stacks, crashed_pid(crash, program)))
    facts = [*_last_words(message, check), "it ended by SIGABRT: it aborted itself", *words]
    if ending.said is not None:
        yield from told_crashes(ending, crash, facts, where, log)
        return
    damaged = bool(message and _HEAP.search(message))
    said = "the heap is damaged" if damaged else "a check inside native code failed" if check or message else None
    yield Finding(
        Cause.NATIVE_CRASH,
        f"{who(program)} aborted" + (f": {said}" if said else " in native code"),
        tuple(facts),
        (
            _OVERRUN if damaged else _READ_CHECK,
            "try another version of the library named above",
            *core_words(ending),
        ),
        Confidence.CERTAIN,
        where,
    )


def _last_words(message: str | None, check: str | None) -> tuple[str, ...]:
    if message:
        return (f"the C library said {quoted(message)}",)
    return (f"its last words were {quoted(check, 300)}",) if check else ()


def _last_check(log: Log | None) -> str | None:
    for line in reversed(log.lines if log is not None else ()):
        if _CHECK.search(line.text):
            return line.text
    return None
