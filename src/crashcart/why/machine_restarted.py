"""W504 machine-restarted."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Ending, Program, Sample, StackDump
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.units import duration
from crashcart.why._place import last_place
from crashcart.why._statement import quote_line
from crashcart.why._words import who

_REMEDY = (
    "start it again from its last checkpoint",
    "`last -x reboot shutdown` and `journalctl -b -1` tell how the machine went down: a power cut, heat, a kernel panic",
)


@rule("W504", "machine-restarted", Rank.MECHANISM)
def machine_restarted(
    ending: Ending,
    program: Program | None = None,
    samples: tuple[Sample, ...] | None = None,
    stacks: tuple[StackDump, ...] | None = None,
) -> Iterator[Finding]:
    """The whole machine went down while the program ran.

    ## What it means

    A power cut, a crash or reboot of the machine, a preempted cloud instance: the program had no part in it.

    ## How we know

    The recording has no ending, and the machine has another boot id now than when the program started. A log that was
    handed in says so itself: a reboot, a kernel panic.

    ## What to do

    Save checkpoints often enough that a restart costs little. On preemptible instances, expect it.
    """
    if ending.kind != "unobserved" or ending.same_boot is not False:
        return
    if ending.said is not None:
        yield _told(ending)
        return
    last = f"; the last sample is from {duration(samples[-1].at_s)} after the start" if samples else ""
    yield Finding(
        Cause.MACHINE_RESTART,
        f"the machine restarted while {who(program)} ran",
        (f"the recording has no ending, and the machine has been booted since{last}",),
        _REMEDY,
        Confidence.CERTAIN,
        last_place(stacks, program.pid if program is not None else None, None),
    )


def _told(ending: Ending) -> Finding:
    return Finding(
        Cause.MACHINE_RESTART,
        "the machine went down while the program ran",
        (quote_line(ending.said),),
        _REMEDY,
        Confidence.LIKELY,
    )
