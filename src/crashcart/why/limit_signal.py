"""W113 limit-signal."""

from __future__ import annotations

import signal
from collections.abc import Iterator

from crashcart.evidence import Ending, Machine, Program, Sample, StackDump
from crashcart.finding import Cause, Confidence, Finding, Where
from crashcart.rule import Rank, rule
from crashcart.why._place import last_place
from crashcart.why._words import who

_LIMITS = {
    signal.SIGXCPU: ("processor time", "RLIMIT_CPU", "ulimit -t unlimited"),
    signal.SIGXFSZ: ("file size", "RLIMIT_FSIZE", "ulimit -f unlimited"),
}


@rule("W113", "limit-signal", Rank.MECHANISM)
def limit_signal(
    ending: Ending,
    program: Program | None = None,
    machine: Machine | None = None,
    samples: tuple[Sample, ...] | None = None,
    stacks: tuple[StackDump, ...] | None = None,
) -> Iterator[Finding]:
    """The program used up a limit of processor time or file size, for which the kernel sends a signal of its own.

    ## What it means

    A shell, a batch system or a service manager set a limit (`ulimit -t`, `ulimit -f`) for its programs.

    ## How we know

    SIGXCPU and SIGXFSZ are sent by the kernel for these limits and hardly by anybody else. Where the soft and the hard
    limit of processor time are the same, SIGKILL comes instead: likely, if that much time had been used.

    ## What to do

    Raise the limit in the shell or job that starts the program, or do less per run: checkpoint and continue.
    """
    place = last_place(stacks, program.pid if program is not None else None, ending)
    if ending.signal == signal.SIGKILL and cpu_limit_reached(machine, samples):
        yield _killed(program, machine, place)
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
        place,
    )


def cpu_limit_reached(machine: Machine | None, samples: tuple[Sample, ...] | None) -> bool:
    """Whether the program had used as much processor time as RLIMIT_CPU allows."""
    limit_s = (machine.rlimits or {}).get("cpu") if machine is not None else None
    used_s = next((each.cpu_s for each in reversed(samples or ()) if each.cpu_s is not None), None)
    return limit_s is not None and used_s is not None and used_s >= limit_s - 1.0


def _killed(program: Program | None, machine: Machine | None, place: Where | None) -> Finding:
    limit_s = (machine.rlimits or {}).get("cpu") if machine is not None else None
    return Finding(
        Cause.PROCESS_LIMIT,
        f"{who(program)} was killed: it used up its limit of processor time",
        (f"it ended by SIGKILL when it had used the {limit_s} s of processor time that RLIMIT_CPU allows",),
        (
            "raise the limit where the program is started: `ulimit -t unlimited`",
            "save checkpoints, so that a later run can go on",
        ),
        Confidence.LIKELY,
        place,
    )
