"""L116 threads-or-files-pile-up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from crashcart.finding import Finding, Level
from crashcart.ground import Machine
from crashcart.growth import Growth
from crashcart.leaks._holders import named_keeper
from crashcart.leaks._leak import is_explained, leak_of
from crashcart.leaks._made import made_anew, rising
from crashcart.leaks._tell import Blame, counted_finding
from crashcart.rule import Rank, rule

_SERIES = {
    "threads": ("threads", "thread", "end each thread (`join`), or use one pool (`ThreadPoolExecutor`) for all steps"),
    "descriptors": ("open files and sockets", "open file", "close them: `with open(…) as file:`"),
    "children": (
        "child processes",
        "child process",
        "wait for each (`process.join()`, `subprocess.run`), or use one pool for all steps",
    ),
}
"""Words for what is counted, the kind of a container's elements that are such, and what helps."""
LEAST = 16
"""Thread pools of TensorFlow and of BLAS, and a few files, come once and stay."""
_LIMITS = {"threads": "nproc", "descriptors": "nofile", "children": "nproc"}
NEAR = 0.5
"""Of a limit: what has come so far, and is still growing, is a risk."""


@rule("L116", "threads-or-files-pile-up", Rank.KIND)
def threads_or_files_pile_up(growth: Growth, machine: Machine | None = None) -> Iterator[Finding]:
    """Threads, open files or child processes become more with each step.

    ## What it means

    Each thread keeps a stack, each open file a buffer and one of the descriptors that a process may have (often 1024).
    When these are used up, the program fails with "Too many open files" or "can't start new thread", wherever it
    happens to be.

    ## How we know

    They were counted over the steps, and became more to the end of the run. Where memory does not rise with them, and they
    are not half way to their limit, that is a note. The line is the one that makes them, or puts them into a container whose
    elements are such.

    ## What to do

    Close what a step opens, in a `with` block; use one pool of threads or processes for all steps.
    """
    leak = leak_of(growth)
    explained = leak is not None and is_explained(growth, leak.per_step)
    for name, (what, kind, remedy) in _SERIES.items():
        found = rising(growth, name, LEAST)
        if found is None:
            continue
        made = made_anew(growth, ("thread",)) if name == "threads" else []
        keeper = named_keeper(growth, kind)
        limit = _limit(name, machine)
        near = limit is not None and found.climb.last >= NEAR * limit
        of_limit = f"; the limit is {limit:,}" if limit is not None else ""
        blame = Blame(
            f"{what} pile up ({found.climb.first:,} → {found.climb.last:,}{of_limit})",
            f"{what} went from {found.climb.first:,} to {found.climb.last:,} in {found.climb.steps:,} steps{of_limit}",
            (remedy,),
            made[0].frame if made else keeper.kept.filled_at if keeper is not None else None,
        )
        finding = counted_finding(growth, blame)
        if leak is None and not near:
            yield replace(finding, level=Level.NOTE)
        else:
            yield replace(finding, level=Level.RISK, bytes_per_step=None) if explained else finding


def _limit(name: str, machine: Machine | None) -> int | None:
    """How many a process, or its group, may have; None where nobody knows, or there is no limit."""
    if machine is None:
        return None
    known = [(machine.rlimits or {}).get(_LIMITS[name])]
    known += machine.task_limits.values() if _LIMITS[name] == "nproc" else []
    return min((each for each in known if each), default=None)
