"""W206 mapped-memory-vanished."""

from __future__ import annotations

import signal
from collections.abc import Iterator

from crashcart.evidence import Crash, Disk, Ending, Program, StackDump
from crashcart.finding import Cause, Confidence, Finding, Where
from crashcart.rule import Rank, rule
from crashcart.units import MIB, size
from crashcart.why._crash import core_words, crash_place, native_words
from crashcart.why._words import signal_of, who

_SHARED_FIRST = (
    "in a container, shared memory is the first suspect: `df -h /dev/shm`, then `docker run --shm-size=8g` or `--ipc=host`, or"
    " num_workers=0",
)
_SHARED = ("/dev/shm/", "/run/shm/", "/memfd:", "/SYSV")


@rule("W206", "mapped-memory-vanished", Rank.MECHANISM)
def mapped_memory_vanished(
    ending: Ending,
    program: Program | None = None,
    crash: Crash | None = None,
    stacks: tuple[StackDump, ...] | None = None,
    disks: tuple[Disk, ...] | None = None,
) -> Iterator[Finding]:
    """Memory that is backed by a file could not be had: the file became shorter, or its file system is full.

    ## What it means

    SIGBUS comes when a program touches mapped memory whose page cannot be provided: shared memory on a full `/dev/shm`
    (64 MB by default in Docker), a mapped file that was cut short by somebody else, or a sparse file on a full disk.

    ## How we know

    The end was SIGBUS. If /dev/shm has next to nothing free, or the stack is in shared-memory code, shared memory is the
    likely cause; otherwise the mapped file on the named line is.

    ## What to do

    For shared memory: `docker run --shm-size=8g`, or fewer workers. For a mapped file: do not rewrite it in place while
    others map it; write a new file and rename it.
    """
    number = signal_of(ending) or 0
    if number != signal.SIGBUS:
        return
    place = crash_place(crash, stacks, program, ending)
    yield bus_finding(who(program), crash, disks, place, core_words(ending), told=ending.said is not None)


def bus_finding(
    subject: str,
    crash: Crash | None,
    disks: tuple[Disk, ...] | None,
    where: Where | None,
    more: tuple[str, ...],
    told: bool = False,
) -> Finding:
    """What a SIGBUS means, by the file that the faulting address was mapped from and the room in shared memory."""
    mapping = crash.mapping if crash is not None else None
    mapped = (f"the address is in the mapping of {mapping}",) if mapping else ()
    shm = next((disk for disk in disks or () if disk.path == "/dev/shm"), None)
    full = shm is not None and shm.free_bytes < max(4 * MIB, shm.total_bytes // 50)
    if (mapping or "").startswith(_SHARED) or (mapping is None and full):
        return _of_shared_memory(subject, mapped, shm if full else None, where)
    return Finding(
        Cause.NATIVE_CRASH,
        f"{subject} crashed: memory mapped from a file could not be read or written",
        (
            "it ended by SIGBUS, an access beyond the end of a mapped file or on a full file system",
            *mapped,
            *native_words(crash),
        ),
        (
            *(_SHARED_FIRST if told else ()),
            "the mapped file (np.memmap, mmap, HDF5) became shorter, or its file system is full: check with `ls -l` and `df -h`",
            "write to a new file and rename it, instead of rewriting a mapped one in place",
            *more,
        ),
        Confidence.LIKELY,
        where,
    )


def _of_shared_memory(subject: str, mapped: tuple[str, ...], full: Disk | None, where: Where | None) -> Finding:
    room = (f"/dev/shm has {size(full.free_bytes)} of {size(full.total_bytes)} left",) if full is not None else ()
    return Finding(
        Cause.SHARED_MEMORY,
        f"{subject} crashed: shared memory ran out",
        ("it ended by SIGBUS: a page of mapped memory could not be had", *mapped, *room),
        (
            "give it more: `docker run --shm-size=8g` or `--ipc=host`",
            "use fewer worker processes (`df -h /dev/shm` shows the room)",
        ),
        Confidence.LIKELY,
        where,
    )
