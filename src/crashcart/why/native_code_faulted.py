"""W202 native-code-faulted."""

from __future__ import annotations

import signal
from collections.abc import Iterator

from crashcart.evidence import Crash, Ending, Log, Program, StackDump
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.why._crash import (
    core_words,
    crash_place,
    crashed_pid,
    crashed_stack,
    in_library,
    native_words,
    python_words,
    sent_from_outside,
)
from crashcart.why._overflow import is_overflow
from crashcart.why._told import told_crashes
from crashcart.why._words import runs_pytest, signal_of, who

_SIGNALS = {
    signal.SIGSEGV: "SIGSEGV, an access to memory that is not its own",
    signal.SIGFPE: "SIGFPE, an impossible integer division",
}

_HIDDEN = (
    "run it once more with `-p no:faulthandler`: pytest keeps the stack of the crash to itself, the test's line too"
)


@rule("W202", "native-code-faulted", Rank.MECHANISM)
def native_code_faulted(
    ending: Ending,
    program: Program | None = None,
    crash: Crash | None = None,
    stacks: tuple[StackDump, ...] | None = None,
    log: Log | None = None,
) -> Iterator[Finding]:
    """Native code crashed: it touched memory that is not its own, or divided by zero.

    ## What it means

    A compiled library, not Python code, went wrong: a bug in it, arguments it does not check, or two libraries that were
    built against different versions of something. The Python line shows which call led there.

    ## How we know

    The end was SIGSEGV or SIGFPE, and the recorded stack does not show an exhausted stack. The library and symbol come
    from the handler inside the program, the line from Python's own stack at that moment. A log that only says
    "Segmentation fault" fits other causes, too: then it is called likely at most, and what would tell is given.

    ## What to do

    Check the arguments of the call on the named line first (shapes, dtypes, indices, closed handles). Then try another
    version of the named library. A small program that repeats it is what its maintainers need.
    """
    number = signal_of(ending) or 0
    if number not in _SIGNALS or is_overflow(crash, stacks) or sent_from_outside(crash):
        return
    facts = _facts(number, ending, program, crash, stacks)
    where = crash_place(crash, stacks, program, ending)
    if ending.said is not None:
        yield from told_crashes(ending, crash, facts, where, log)
        return
    hidden = where is None and runs_pytest(program)
    yield Finding(
        Cause.NATIVE_CRASH,
        f"{who(program)} crashed in native code" + in_library(crash),
        tuple(facts),
        (
            *([_HIDDEN] if hidden else []),
            "check the arguments of the call on that line: shapes, dtypes, indices, handles that are closed",
            "try another version of the library named above; `crashcart why --html` has the whole stack for a bug report",
            *core_words(ending),
        ),
        Confidence.CERTAIN,
        where,
    )


def _facts(
    number: int, ending: Ending, program: Program | None, crash: Crash | None, stacks: tuple[StackDump, ...] | None
) -> list[str]:
    pid = crashed_pid(crash, program)
    stack = crashed_stack(crash, stacks, pid)
    facts = [f"it ended by {_SIGNALS[signal.Signals(number)]}"]
    if crash is not None and crash.address is not None and crash.address < 65536:
        facts.append(f"the address was {crash.address:#x}: a null pointer was used")
    facts.extend(native_words(crash))
    facts.extend(python_words(crash, stacks, pid))
    if stack is not None and not stack.main and pid is not None:  # a log does not say which thread is the main one
        facts.append("it happened in a background thread")
    if ending.python_finished:
        facts.append("the program itself had finished; the crash came while Python was shutting down")
    return facts
