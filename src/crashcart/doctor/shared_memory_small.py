"""D402: /dev/shm is small or full."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Disk
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.installation import Installation
from crashcart.rule import Rank, rule
from crashcart.units import MIB, size

_SHARED = "/dev/shm"
_DOCKERS_DEFAULT_BYTES = 64 * MIB
_FULL_BYTES = 16 * MIB
# What passes whole arrays between processes through shared memory by default.
_USERS = ("torch", "ray", "vllm")


@rule("D402", "shared-memory-small", Rank.KIND)
def shared_memory_small(disks: tuple[Disk, ...], installation: Installation | None = None) -> Iterator[Finding]:
    """/dev/shm has the 64 MiB that Docker gives by default, or is nearly full.

    ## What it means

    Processes that hand arrays to each other through shared memory need room there: PyTorch's DataLoader with workers,
    Ray, `multiprocessing.shared_memory`. When it is full, the one that writes dies by SIGBUS ("Bus error", "out of
    shared memory"). TensorFlow's own pipelines use threads, and need none.

    ## How we know

    The size and free space of the file system. A small one is a risk where a package is installed that uses it by
    default, and otherwise a note; a full one is a risk.

    ## What to do

    `docker run --shm-size=2g …`; in Kubernetes, an emptyDir with `medium: Memory` mounted at /dev/shm.
    """
    shared = next((each for each in disks if each.path == _SHARED), None)
    if shared is None:
        return
    full = shared.free_bytes < _FULL_BYTES
    if not full and shared.total_bytes > _DOCKERS_DEFAULT_BYTES:
        return
    user = installation.find(*_USERS) if installation is not None else None
    facts = [f"/dev/shm: {size(shared.total_bytes)}, {size(shared.free_bytes)} free"]
    if user is not None:
        facts.append(f"{user.name} {user.version} hands arrays to its workers through it")
    yield Finding(
        Cause.SHARED_MEMORY,
        f"shared memory (/dev/shm) is {'nearly full' if full else 'small'}: {size(shared.free_bytes)} free",
        tuple(facts),
        (
            "`docker run --shm-size=2g …` (or `--ipc=host`); Kubernetes: an emptyDir with medium: Memory at /dev/shm",
            "or workers that need none: `DataLoader(num_workers=0)`, threads instead of processes",
        ),
        Confidence.LIKELY if user is not None or full else Confidence.POSSIBLE,
        level=Level.RISK if user is not None or full else Level.NOTE,
    )
