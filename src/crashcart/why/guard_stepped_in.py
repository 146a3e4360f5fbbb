"""W114 guard-stepped-in."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import ErrorRecord, Event, HolderNote, Machine, place
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.why import _thrift
from crashcart.why._guarded import guard_message
from crashcart.why._place import held_words

_CAUSES = {
    "container limit": Cause.CONTAINER_MEMORY,
    "container limit, with swap": Cause.CONTAINER_MEMORY,
    "the machine's memory": Cause.HOST_MEMORY,
}


@rule("W114", "guard-stepped-in", Rank.MECHANISM)
def guard_stepped_in(
    errors: tuple[ErrorRecord, ...],
    events: tuple[Event, ...] | None = None,
    machine: Machine | None = None,
    holders: tuple[HolderNote, ...] | None = None,
) -> Iterator[Finding]:
    """Memory was about to run out, and crashcart raised MemoryGuardError before the kernel would have killed the program.

    ## What it means

    The limit that binds the program (its container's, the machine's, or one that was asked for) was reached. Instead of a
    kill without a word, the program got an exception at its own line; nobody caught it, so the program ended there. In a
    notebook, only the cell would have ended.

    ## How we know

    The exception is crashcart's own, and its message has the figures of that moment.

    ## What to do

    Make what the line asks for smaller, work in parts, or catch MemoryError around it and go on with what is there. A
    larger limit helps where the need is bounded; where memory grows with every step, it only comes later.
    """
    for error in errors:
        message = guard_message(error, events)
        if message is None or error.thread is not None:
            continue
        first, *rest = message.splitlines() or [""]
        where = place(error.own_frame())
        limit = machine.memory_limit() if machine is not None else None
        yield Finding(
            next((cause for source, cause in _CAUSES.items() if f"({source})" in message), Cause.PROCESS_LIMIT),
            "memory was about to run out, and the guard raised MemoryGuardError at this line in place of a kill",
            (first, *(line.strip() for line in rest if not line.strip().startswith(("try ", "held:")))),
            (
                *_thrift.for_line(where),
                "catch it (`except MemoryError`) and go on with less: all objects are still there, only what the line was doing"
                " may be half done",
                *_thrift.for_limit(None, limit.bytes if limit else None, limit.kind if limit else "machine"),
            ),
            Confidence.CERTAIN,
            where,
            held_words(holders, None),
        )
