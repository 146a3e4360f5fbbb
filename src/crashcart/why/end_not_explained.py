"""W507 end-not-explained."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Crash, Ending, KernelLog, Program, Sample, StackDump
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.units import duration, size
from crashcart.why._place import last_place
from crashcart.why._words import who


@rule("W507", "end-not-explained", Rank.LAST_RESORT)
def end_not_explained(
    ending: Ending,
    program: Program | None = None,
    samples: tuple[Sample, ...] | None = None,
    stacks: tuple[StackDump, ...] | None = None,
    kernel_log: KernelLog | None = None,
    crash: Crash | None = None,
) -> Iterator[Finding]:
    """The evidence does not say why the program ended.

    ## What it means

    Something ended it that left no trace where we can look: often because the kernel log cannot be read, or because the
    watching process was killed as well.

    ## How we know

    No other rule found a well-founded cause.

    ## What to do

    What is missing is named; getting it makes the next verdict better.
    """
    if ending.said is not None or (ending.kind == "exit" and (ending.exit_code or 0) < 128):
        return
    facts = [_how(ending)]
    if samples and samples[-1].used_bytes is not None and samples[-1].limit_bytes is not None:
        last = samples[-1]
        facts.append(
            f"{size(last.used_bytes or 0)} of {size(last.limit_bytes or 0)} were in use at {duration(last.at_s)}"
        )
    remedy = []
    if kernel_log is None:
        remedy.append(
            "make the kernel log readable (run as root, or `sysctl kernel.dmesg_restrict=0`), or look yourself: `dmesg -T | tail`"
        )
    if ending.kind == "unobserved":
        remedy.append("the watching process was killed too: see `dmesg -T | grep -i kill` and the job's own log")
    yield Finding(
        Cause.UNKNOWN,
        f"{who(program)} ended, and the evidence does not say why",
        tuple(facts),
        tuple(remedy) or ("run it again under `crashcart run`, and keep its output",),
        Confidence.POSSIBLE,
        last_place(stacks, program.pid if program is not None else None, ending),
    )


def _how(ending: Ending) -> str:
    if ending.kind == "signal":
        return f"it ended by {ending.signal_name}"
    if ending.kind == "exit":
        return f"it ended with exit code {ending.exit_code}"
    if ending.kind == "running":
        return "it is still running"
    return "nobody saw its end: the recording stops in the middle"
