"""W109 shared-memory-exhausted."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from dataclasses import replace

from crashcart.evidence import Disk, Ending, ErrorRecord, Log, LogLine, StackDump
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.units import size
from crashcart.why._said import Force, Kind
from crashcart.why._statement import conclude, quote_line
from crashcart.why._text import stated
from crashcart.why._words import signal_of

_HINT = re.compile(r"/dev/shm|\bshm\b|shared[ _]memory|torch_shm|DataLoader|/psm_")
_STACK_HINT = re.compile(
    r"shared_memory|multiprocessing[/\\](?:heap|sharedctypes|shared)|torch[/\\]multiprocessing|dataloader"
)
_REMEDY = (
    "give the container more: `docker run --shm-size=8g` (64 MB is Docker's default) or `--ipc=host`; in Kubernetes"
    " mount"
    " an emptyDir with medium: Memory at /dev/shm",
    "use fewer workers (num_workers=0 or 2) and less prefetching; each worker holds its batches in shared memory",
    "look for segments that an earlier run left behind: `ls -lh /dev/shm`",
)
_NCCL_HEADLINE = "a system call of NCCL failed: mostly too little shared memory (/dev/shm), else the network"
_NCCL_REMEDY = (
    "in a container: `docker run --ipc=host` (or --shm-size=8g); NCCL's processes meet in /dev/shm, of which Docker gives 64 MB",
    "NCCL_DEBUG=INFO names the call that failed: a segment in /dev/shm, a socket (then NCCL_SOCKET_IFNAME=eth0, a free port, the"
    " firewall), or a limit on locked memory (`ulimit -l unlimited`)",
    "on several machines: `--network=host`, and the same NCCL and CUDA versions everywhere",
)


@rule("W109", "shared-memory-exhausted", Rank.KIND)
def shared_memory_exhausted(
    errors: tuple[ErrorRecord, ...],
    log: Log | None = None,
    ending: Ending | None = None,
    stacks: tuple[StackDump, ...] | None = None,
    disks: tuple[Disk, ...] | None = None,
) -> Iterator[Finding]:
    """Shared memory (/dev/shm) is full or too small.

    ## What it means

    Worker processes hand their batches over in /dev/shm, which is memory with a size limit of its own: 64 MB in a
    Docker container unless asked otherwise. When it is full, a write fails or ends the process with SIGBUS.

    ## How we know

    The message names shared memory or a file in /dev/shm; or the program ended by SIGBUS and its output or its stack is
    about shared memory. RAM may be plentiful all the while.

    ## What to do

    Give /dev/shm more room, or let fewer workers use it.
    """
    facts = tuple(_room(disks))
    found = False
    by_bus_error = signal_of(ending) == signal.SIGBUS
    for statement in stated(Kind.SHARED_MEMORY, errors, log, ending):
        found = True
        if statement.force is Force.VAGUE:
            yield conclude(statement, _NCCL_HEADLINE, _NCCL_REMEDY, *facts)
            continue
        finding = conclude(statement, "shared memory (/dev/shm) is full or too small", _REMEDY, *facts)
        # A word of shared memory and a SIGBUS bear each other out, wherever in the log the word stands.
        stronger = min(finding.confidence, Confidence.LIKELY, key=lambda each: each.order)
        yield replace(finding, confidence=stronger) if by_bus_error else finding
    hint = _hint(log, stacks) if not found and by_bus_error else None
    if hint:
        because = ("the program ended by SIGBUS: memory that was mapped could not be had", hint, *facts)
        yield Finding(
            Cause.SHARED_MEMORY,
            "a write into shared memory (/dev/shm) failed: it is full or too small",
            because,
            _REMEDY,
            Confidence.LIKELY,
        )


def _hint(log: Log | None, stacks: tuple[StackDump, ...] | None) -> str | None:
    line: LogLine | None = (
        next((each for each in reversed(log.lines) if _HINT.search(each.text)), None) if log else None
    )
    if line:
        return quote_line(line)
    frames = (frame for dump in (stacks or ())[-1:] for stack in dump.stacks for frame in stack.frames)
    frame = next((each for each in frames if _STACK_HINT.search(each.file)), None)
    return f"its last stack was in {frame.function} ({frame.file}, line {frame.line})" if frame else None


def _room(disks: tuple[Disk, ...] | None) -> Iterator[str]:
    for disk in disks or ():
        if disk.path.startswith("/dev/shm"):
            yield f"/dev/shm has {size(disk.free_bytes)} free of {size(disk.total_bytes)}"
