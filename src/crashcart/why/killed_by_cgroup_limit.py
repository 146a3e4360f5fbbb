"""W101 killed-by-cgroup-limit."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import ChildEnd, Ending, HolderNote, KernelLog, Machine, Program, Sample, StackDump
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.why._oom import Scene, oom_findings


@rule("W101", "killed-by-cgroup-limit", Rank.MECHANISM)
def killed_by_cgroup_limit(
    ending: Ending,
    program: Program | None = None,
    machine: Machine | None = None,
    kernel_log: KernelLog | None = None,
    samples: tuple[Sample, ...] | None = None,
    stacks: tuple[StackDump, ...] | None = None,
    holders: tuple[HolderNote, ...] | None = None,
    children: tuple[ChildEnd, ...] | None = None,
) -> Iterator[Finding]:
    """The program's container or job (its memory group) reached its memory limit, and the kernel killed the program.

    ## What it means

    The container, pod, batch job or service that the program runs in may use only so much memory, usually far less than
    the machine has. When it needs more, the Linux kernel ends a process in it with SIGKILL, at once and without a
    message; no Python code runs any more.

    ## How we know

    Certain: the kernel log names this process and says "Memory cgroup out of memory". Likely, where the kernel log cannot
    be read: the program ended by SIGKILL, the count of memory kills in its own group rose during this very run, and the
    group was full. Counts from before the run are never used.

    ## What to do

    Use less at the line that was running: smaller batches, a narrower dtype, slices instead of the whole. Or give the
    container a higher limit. `crashcart run` shows how much was in use, and by which names.
    """
    scene = Scene(ending, program, machine, kernel_log, samples, stacks, holders, children)
    yield from oom_findings(scene, "container")
