"""W211 stack-exhausted."""

from __future__ import annotations

import signal
from collections.abc import Iterator

from crashcart.evidence import Crash, Ending, Machine, Program, Stack, StackDump
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.units import size
from crashcart.why._crash import crash_place, crashed_stack, native_words
from crashcart.why._overflow import is_overflow, repeated
from crashcart.why._words import signal_of, who


@rule("W211", "stack-exhausted", Rank.KIND)
def stack_exhausted(
    ending: Ending,
    program: Program | None = None,
    crash: Crash | None = None,
    stacks: tuple[StackDump, ...] | None = None,
    machine: Machine | None = None,
) -> Iterator[Finding]:
    """Recursion went deeper than the C stack, and the program crashed before Python could raise RecursionError.

    ## What it means

    Each level of recursion through compiled code (repr, copy, pickle, json, comparisons of nested objects) takes some of
    a fixed stack. With a raised recursion limit the stack ends before Python's own count does.

    ## How we know

    The end was SIGSEGV at an address next to the stack pointer, and the same function repeats many times in the recorded
    stack. Without the address, a stack of a hundred frames that repeat makes it likely.

    ## What to do

    Find the missing end of the recursion at the named line, or turn it into a loop. Do not raise the recursion limit
    alone: `threading.stack_size` and `ulimit -s` set how much stack there is.
    """
    number = signal_of(ending) or 0
    if number not in (signal.SIGSEGV, signal.SIGBUS) or not is_overflow(crash, stacks):
        return
    stack = crashed_stack(crash, stacks, crash.pid if crash is not None else None)
    exact = crash is not None and crash.stack_distance_bytes is not None
    yield Finding(
        Cause.STACK_OVERFLOW,
        f"{who(program)} crashed: recursion used up the stack",
        (_end_words(number, crash), *_depth_words(stack), *native_words(crash), *_limit_words(machine)),
        (
            "find why the recursion on that line does not end, or write it as a loop",
            "leave sys.setrecursionlimit at its default: RecursionError then comes before the crash",
        ),
        Confidence.CERTAIN if exact else Confidence.LIKELY,
        crash_place(crash, stacks, program, ending),
    )


def _end_words(number: int, crash: Crash | None) -> str:
    ended = f"it ended by {signal.Signals(number).name}"
    if crash is not None and crash.stack_left_bytes is not None:
        return f"{ended} with {size(max(0, crash.stack_left_bytes))} of the main thread's stack left"
    if crash is not None and crash.stack_distance_bytes is not None:
        return f"{ended}, {size(crash.stack_distance_bytes)} from the stack pointer"
    return ended


def _depth_words(stack: Stack | None) -> tuple[str, ...]:
    if stack is None or repeated(stack) <= 1:
        return ()
    more = " and more" if stack.truncated else ""
    return (f"{repeated(stack)}{more} of the innermost {len(stack.frames)} Python frames are the same function",)


def _limit_words(machine: Machine | None) -> tuple[str, ...]:
    limit = (machine.rlimits or {}).get("stack") if machine is not None else None
    return (f"the stack may be {size(limit)} (ulimit -s)",) if limit is not None else ()
