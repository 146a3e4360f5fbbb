"""W212 child-crashed."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import replace

from crashcart.evidence import Crash, Disk, Ending, ErrorRecord, Program, StackDump
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.why._crash import crash_place, native_words, python_words
from crashcart.why._words import failed_by_itself, quoted, signal_of, who
from crashcart.why.mapped_memory_vanished import bus_finding


@rule("W212", "child-crashed", Rank.ROOT)
def child_crashed(
    ending: Ending,
    program: Program,
    crash: Crash | None = None,
    stacks: tuple[StackDump, ...] | None = None,
    errors: tuple[ErrorRecord, ...] | None = None,
    disks: tuple[Disk, ...] | None = None,
) -> Iterator[Finding]:
    """A process that the program had started crashed in native code, while the program itself lived on.

    ## What it means

    A worker of a pool, a data loader or a subprocess died by a fatal signal; the parent saw a broken pool or an exit code
    below zero, or waits for an answer that will not come.

    ## How we know

    The fatal-signal handler wrote its record in a process below the program, and the program's own end was another.

    ## What to do

    Run the work of that child in the main process once: the crash is then easier to look at. The line and the library
    are where to begin.
    """
    number = signal_of(ending) or 0
    if crash is None or crash.pid == program.pid or number == crash.signal:
        return
    where = crash_place(crash, stacks, None, None)
    subject = f"a child of {who(program)} (pid {crash.pid})"
    if crash.signal == signal.SIGBUS:
        finding = bus_finding(subject, crash, disks, where, ())
        yield replace(finding, confidence=Confidence.POSSIBLE) if failed_by_itself(errors) else finding
        return
    name = signal.Signals(crash.signal).name
    how = f"by {ending.signal_name}" if ending.signal else f"with exit code {ending.exit_code}"
    said = (f"the C library said {quoted(crash.message)}",) if crash.message else ()
    yield Finding(
        Cause.NATIVE_CRASH,
        f"{subject} crashed in native code",
        (
            f"it ended by {name}; {program.name} itself (pid {program.pid}) lived on and ended {how}",
            *said,
            *native_words(crash),
            *python_words(crash, stacks, crash.pid),
        ),
        (
            "run that work in the main process once, to see the crash by itself",
            "check the arguments of the call on that line: shapes, dtypes, indices, handles that are closed",
        ),
        Confidence.POSSIBLE if failed_by_itself(errors) else Confidence.CERTAIN,
        where,
    )
