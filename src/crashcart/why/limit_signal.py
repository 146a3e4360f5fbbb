"""W113 limit-signal."""

from __future__ import annotations

import signal
from collections.abc import Iterator

from crashcart.evidence import Ending, Program, StackDump
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.why._place import last_place
from crashcart.why._words import who

_LIMITS = {
    signal.SIGXCPU: ("processor time", "RLIMIT_CPU", "ulimit -t unlimited"),
    signal.SIGXFSZ: ("file size", "RLIMIT_FSIZE", "ulimit -f unlimited"),
}


@rule("W113", "limit-signal", Rank.MECHANISM)
def limit_signal(
    ending: Ending, program: Program | None = None, stacks: tuple[StackDump, ...] | None = None
) -> Iterator[Finding]:
    """The program used up a limit of processor time or file size, for which the kernel sends a signal of its own.

    ## What it means

    A shell, a batch system or a service manager set a limit (`ulimit -t`, `ulimit -f`) for its programs.

    ## How we know

    SIGXCPU and SIGXFSZ are sent by the kernel for these limits and hardly by anybody else.

    ## What to do

    Raise the limit in the shell or job that starts the program, or do less per run: checkpoint and continue.
    """
    if ending.signal not in _LIMITS:
        return
    what, name, command = _LIMITS[signal.Signals(ending.signal)]
    yield Finding(
        Cause.PROCESS_LIMIT,
        f"{who(program)} was ended: it used up its limit of {what}",
        (f"it ended by {ending.signal_name}, which the kernel sends when {name} is reached",),
        (
            f"raise the limit where the program is started: `{command}`",
            "save checkpoints, so that a later run can go on",
        ),
        Confidence.CERTAIN,
        last_place(stacks, program.pid if program is not None else None, ending),
    )
