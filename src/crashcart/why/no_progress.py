"""W505 no-progress."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Frame, Program, Sample, Stack, StackDump, place
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.units import duration, plural
from crashcart.why._kill import dumps_of
from crashcart.why._words import signal_of, who
from crashcart.why.error_in_background_thread import idle_since

LEAST_QUIET_S = 8.0
QUIET_CPU_S = 0.2
_STOPPED_BY = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGHUP, signal.SIGQUIT})
# Waiting for people, clocks or callers is what these are for; waiting for another part of the program or for a peer that
# does not answer is a hang.
_RIGHTLY_IDLE = (
    "sleep",
    "input(",
    "select",
    "accept",
    "readline",
    "serve_forever",
    "pause",
    "poll(",
)
_LOCKS = (
    "threading.py",
    "queue.py",
    "multiprocessing",
    "concurrent/futures",
    "subprocess.py",
    "socket.py",
    "ssl.py",
    "http/client.py",
    "urllib/",
)

_WAITS = re.compile(r"lock\b|semaphore|\.(?:acquire|wait|join|result|get|recv\w*)\(", re.IGNORECASE)
"""A lock or a queue of C code waits without a frame of its own: the line itself says so."""


@rule("W505", "no-progress", Rank.ROOT)
def no_progress(
    ending: Ending,
    samples: tuple[Sample, ...],
    stacks: tuple[StackDump, ...],
    program: Program | None = None,
    errors: tuple[ErrorRecord, ...] | None = None,
) -> Iterator[Finding]:
    """The program was alive and made no progress.

    ## What it means

    Its threads wait for each other, for a queue that nobody fills, for a worker that died, or in a child that was forked
    while another thread held a lock.

    ## How we know

    For many seconds before somebody stopped it (or until now, if it still runs), neither the program nor its children
    used the processor, and the main thread stayed on the same line, waiting for another part of the program or for a peer
    that does not answer. Waiting for input, a clock or a caller is not called a hang. Where a thread had just ended by an
    exception, that is the reason, and the wait its consequence.

    ## What to do

    Look at what the named line waits for and who should have released it; `crashcart why --html` shows all threads.
    """
    idle_s = quiet_s(samples)
    if not was_stopped(ending, errors) or idle_s < LEAST_QUIET_S:
        return
    dumps = dumps_of(stacks, program.pid if program is not None else None)
    waiting = _waiting(dumps)
    if waiting is None:
        return
    dump, stack, frame = waiting
    if any(word in (frame.source or "") or word in stack.frames[-1].function for word in _RIGHTLY_IDLE):
        return
    others = [each for each in dump.stacks if each is not stack and each.own_frame() is not None]
    forked = bool(samples and samples[-1].children)
    explained = any(error.thread is not None and idle_since(error, samples) for error in errors or ())
    yield Finding(
        Cause.HANG,
        f"{who(program)} hung: it waited {duration(idle_s)} without doing anything",
        tuple(_facts(idle_s, stack, others, samples)),
        (
            "find what that line waits for (a lock, a queue, a thread, a worker) and why it is never released or filled",
            "wait with a timeout (`get(timeout=60)`, `join(60)`), so that it raises instead of hanging",
        ),
        Confidence.LIKELY if (_is_locked(stack, frame) or others or forked) and not explained else Confidence.POSSIBLE,
        place(frame),
    )


def _is_locked(stack: Stack, frame: Frame) -> bool:
    """Whether the thread waits for another part of the program or for a peer."""
    in_lock = any(part in each.file for part in _LOCKS for each in stack.frames[-3:])
    return in_lock or _WAITS.search(frame.source or "") is not None


def _facts(idle_s: float, stack: Stack, others: list[Stack], samples: tuple[Sample, ...]) -> Iterator[str]:
    inner = stack.frames[-1]
    yield f"no processor time was used in the last {duration(idle_s)}, and the main thread stayed on the same line"
    yield f"it waits in {inner.function} ({'/'.join(inner.file.split('/')[-2:])}:{inner.line})"
    for each in others[:2]:
        yield f"thread {each.thread} waits too, at {_short(each.own_frame())}"
    if samples and samples[-1].children:
        yield plural(samples[-1].children, "child process", "child processes") + " of it were alive"


def was_stopped(ending: Ending, errors: tuple[ErrorRecord, ...] | None) -> bool:
    """Whether somebody ended it, or it still runs: a program that ended by itself did not hang."""
    stopped = ending.kind == "running" or signal_of(ending) in _STOPPED_BY
    return stopped or any(error.name == "KeyboardInterrupt" for error in errors or ())


def quiet_s(samples: tuple[Sample, ...]) -> float:
    """How long before the last sample next to no processor time had been used."""
    known = [(each.at_s, each.cpu_s) for each in samples if each.cpu_s is not None]
    if not known:
        return 0.0
    end_s, end_cpu_s = known[-1]
    active = [at_s for at_s, cpu_s in known if end_cpu_s - cpu_s > QUIET_CPU_S]
    return end_s - (active[-1] if active else known[0][0])


def _waiting(dumps: list[StackDump]) -> tuple[StackDump, Stack, Frame] | None:
    for dump in reversed(dumps):
        stack = dump.main_stack() or dump.current_stack()
        frame = stack.own_frame() if stack is not None else None
        if stack is not None and frame is not None and dump.reason == "hang":
            return dump, stack, frame
    return None


def _short(frame: Frame | None) -> str:
    return frame.spot if frame is not None else "?"
