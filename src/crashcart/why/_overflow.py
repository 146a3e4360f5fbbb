"""Whether a crash was the end of the stack rather than a stray access. No rule is declared here."""

from __future__ import annotations

import signal
from collections import Counter

from crashcart.evidence import Crash, Stack, StackDump
from crashcart.why._crash import crashed_stack

NEAR_STACK_BYTES = 256 * 1024
"""A fault this near to the stack pointer is a push or a call; stray pointers land elsewhere in 47 bits of space."""
LEAST_REPEATS = 20


def is_overflow(crash: Crash | None, stacks: tuple[StackDump, ...] | None) -> bool:
    """The main thread's stack was at its end; or the fault was at the stack pointer and the same frames repeat, in Python
    or in native code."""
    if crash is not None and crash.stack_left_bytes is not None and crash.address is not None:
        at_end = (
            abs(crash.stack_left_bytes) <= NEAR_STACK_BYTES and (crash.stack_distance_bytes or 0) <= NEAR_STACK_BYTES
        )
        return at_end and crash.signal in (signal.SIGSEGV, signal.SIGBUS)
    near = (
        crash is not None and crash.stack_distance_bytes is not None and crash.stack_distance_bytes <= NEAR_STACK_BYTES
    )
    stack = crashed_stack(crash, stacks, crash.pid if crash is not None else None)
    deep_python = (
        stack is not None and (stack.truncated or len(stack.frames) >= 90) and repeated(stack) >= LEAST_REPEATS
    )
    if crash is None or crash.stack_distance_bytes is None:
        return deep_python
    return near and (deep_python or _native_repeats(crash) >= LEAST_REPEATS)


def repeated(stack: Stack) -> int:
    """How often the most frequent function stands in the stack."""
    counts = Counter((frame.file, frame.function) for frame in stack.frames)
    return max(counts.values(), default=0)


def _native_repeats(crash: Crash) -> int:
    counts = Counter(
        (frame.library, frame.symbol or frame.offset) for frame in crash.frames if frame.symbol or frame.offset
    )
    return max(counts.values(), default=0)
