"""D404: a file system that trainings write to is nearly full."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._fix import quoted
from crashcart.evidence import Disk
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.rule import Rank, rule
from crashcart.units import GIB, MIB, size

_SHARED = "/dev/shm"
# A checkpoint of a small vision model (25 million weights) with Adam's state has 300 MB, and a new one is written before
# the old is dropped; a log of a day has tens of MB.
_LITTLE_BYTES = 1 * GIB
_NEXT_TO_NOTHING_BYTES = 64 * MIB
_EMPTY_BYTES = 4 * MIB
_NEARLY_FULL_FRACTION = 0.1
# Images that are full by nature.
_READ_ONLY = frozenset({"squashfs", "iso9660", "erofs", "cramfs"})


@rule("D404", "disk-nearly-full", Rank.KIND)
def disk_nearly_full(disks: tuple[Disk, ...]) -> Iterator[Finding]:
    """The file system of the working directory, of temporary files or of the caches is nearly full.

    ## What it means

    Checkpoints, data-set downloads (`~/.keras`), caches and temporary files end with "No space left on device", often
    at the end of a long epoch; a checkpoint that was cut off cannot be loaded.

    ## How we know

    The free space that an ordinary user may still take. Below 1 GiB and a tenth of the file system, or below 64 MiB,
    it is a risk; with nothing left, a problem. Quotas are not seen.

    ## What to do

    Remove what is not needed (`du -xsh ~/.cache ~/.keras /tmp/* | sort -h`), or write elsewhere: `export TMPDIR=…`,
    `export KERAS_HOME=…`.
    """
    for each in disks:
        if each.path != _SHARED and each.kind not in _READ_ONLY and _is_low(each):
            yield _finding(each)


def _is_low(disk: Disk) -> bool:
    nearly_full = disk.free_bytes < disk.total_bytes * _NEARLY_FULL_FRACTION
    return disk.free_bytes < _NEXT_TO_NOTHING_BYTES or (nearly_full and disk.free_bytes < _LITTLE_BYTES)


def _finding(disk: Disk) -> Finding:
    empty = disk.free_bytes < _EMPTY_BYTES
    return Finding(
        Cause.DISK_FULL,
        f"{disk.path} has {size(disk.free_bytes)} of {size(disk.total_bytes)} free"
        + (": nothing can be written there" if empty else ""),
        (f"{size(disk.free_bytes)} are free for ordinary users", "the working directory, /tmp or a cache lies there"),
        (
            f"see what takes the room: `du -xh --max-depth=2 {quoted(disk.path)} 2>/dev/null | sort -h | tail -20`",
            "write elsewhere: `export TMPDIR=…` (temporary files), `export KERAS_HOME=…` (data sets and weights)",
        ),
        Confidence.LIKELY,
        level=Level.PROBLEM if empty else Level.RISK,
    )
