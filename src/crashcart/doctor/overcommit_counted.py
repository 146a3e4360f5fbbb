"""D405: the kernel counts every promise of memory, and refuses those beyond its limit."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Machine
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.rule import Rank, rule
from crashcart.units import size

_COUNTS = 2


@rule("D405", "overcommit-counted", Rank.KIND)
def overcommit_counted(machine: Machine) -> Iterator[Finding]:
    """vm.overcommit_memory is 2: what is only reserved counts as used, and requests fail while memory is free.

    ## What it means

    TensorFlow, NumPy and CUDA reserve more than they use, and a fork counts the whole process again. With this
    setting the kernel refuses such requests: MemoryError, `Cannot allocate memory` at a fork, an abort in native
    code, with gigabytes free. Having no swap is not reported: it is the normal state of servers and containers.

    ## How we know

    The kernel's own setting, and its account of what is promised (`CommitLimit`, `Committed_AS`).

    ## What to do

    `sudo sysctl vm.overcommit_memory=0` (the default), or a larger `vm.overcommit_ratio`, or swap space, which counts
    as room.
    """
    if machine.overcommit != _COUNTS:
        return
    limit, promised = machine.commit_limit_bytes, machine.committed_bytes
    account = () if limit is None or promised is None else (f"{size(promised)} of {size(limit)} are promised already",)
    yield Finding(
        Cause.HOST_MEMORY,
        "the kernel refuses memory that is only reserved (vm.overcommit_memory is 2)",
        ("vm.overcommit_memory = 2", *account, "a small training with TensorFlow reserves 2 GiB and uses 0.6"),
        (
            "`sudo sysctl vm.overcommit_memory=0`",
            "or make room: `sudo sysctl vm.overcommit_ratio=95`, or add swap; start processes before memory is large",
        ),
        Confidence.LIKELY,
        level=Level.RISK,
    )
