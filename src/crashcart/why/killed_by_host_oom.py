"""W102 killed-by-host-oom."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import ChildEnd, Ending, HolderNote, KernelLog, Machine, Program, Sample, StackDump
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.why._oom import Scene, oom_findings


@rule("W102", "killed-by-host-oom", Rank.MECHANISM)
def killed_by_host_oom(
    ending: Ending,
    program: Program | None = None,
    machine: Machine | None = None,
    kernel_log: KernelLog | None = None,
    samples: tuple[Sample, ...] | None = None,
    stacks: tuple[StackDump, ...] | None = None,
    holders: tuple[HolderNote, ...] | None = None,
    children: tuple[ChildEnd, ...] | None = None,
) -> Iterator[Finding]:
    """The machine's memory ran out, and the kernel killed the program to save the rest.

    ## What it means

    All programs together used more than the machine's RAM and swap. The Linux kernel then picks the process whose death
    frees the most, and ends it with SIGKILL. It need not be the one that asked last.

    ## How we know

    Certain: the kernel log names this process and says "Out of memory", without "Memory cgroup". Likely, where the kernel
    log cannot be read: the program ended by SIGKILL, the machine's count of memory kills rose during the run, and the
    machine's memory was nearly all in use.

    ## What to do

    Use less at the line that was running, close other programs, or move to a machine with more memory. Adding swap turns
    the kill into slowness.
    """
    scene = Scene(ending, program, machine, kernel_log, samples, stacks, holders, children)
    yield from oom_findings(scene, "machine")
