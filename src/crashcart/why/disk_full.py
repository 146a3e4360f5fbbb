"""W110 disk-full."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crashcart.evidence import Disk, Ending, ErrorRecord, Log, Machine
from crashcart.finding import Cause, Finding
from crashcart.rule import Rank, rule
from crashcart.units import MIB, size
from crashcart.why._said import Kind
from crashcart.why._statement import Statement, conclude
from crashcart.why._text import stated

_NO_SPACE = re.compile(r"no space left|errno 28|enospc|quota|errno 122|disk is full|database or disk is full")
_QUOTA = re.compile(r"quota|errno = 122|errno 122|edquot")
_PATH = re.compile(r"((?:/|[A-Za-z]:\\)[^\s'\";,:]+)")


@rule("W110", "disk-full", Rank.KIND)
def disk_full(
    errors: tuple[ErrorRecord, ...],
    log: Log | None = None,
    ending: Ending | None = None,
    disks: tuple[Disk, ...] | None = None,
    machine: Machine | None = None,
) -> Iterator[Finding]:
    """No space, or no quota, was left where the program wrote.

    ## What it means

    A write failed because the file system is full or the user's share of it is used up. TensorFlow reports it as
    "Resource exhausted" with a file path behind it, which is about the disk and not about memory.

    ## How we know

    The message states error 28 (no space) or 122 (quota), or names a file as the exhausted resource. Where the disks
    were looked at, the free space is given.

    ## What to do

    Make room on that file system or write elsewhere; keep fewer checkpoints.
    """
    for statement in stated(Kind.DISK, errors, log, ending):
        limit = (machine.rlimits or {}).get("fsize") if machine is not None else None
        if limit is not None and not _NO_SPACE.search(statement.said.folded):
            yield _file_size_limit(statement, limit)
            continue
        quota = bool(_QUOTA.search(statement.said.folded))
        path = _PATH.search(statement.words)
        where = f" for {path[1]}" if path else ""
        yield conclude(
            statement,
            f"the disk quota is used up{where}" if quota else f"no space is left on the disk{where}",
            (
                f"make space where it is full: `df -h {path[1].rpartition('/')[0] or '/'}` and `df -i` show it,"
                f" for a quota `quota -s`"
                if path
                else "see which disk has no space left: `df -h` and `df -i` (inodes), for a quota `quota -s`",
                "delete old checkpoints and logs, or keep fewer: CheckpointManager(max_to_keep=3),"
                " ModelCheckpoint(save_best_only=True)",
                "write to another partition: another output directory, or TMPDIR for temporary files and tf.data"
                " caches",
            ),
            *_free(disks),
        )


def _file_size_limit(statement: Statement, limit_bytes: int) -> Finding:
    return conclude(
        statement,
        f"a file reached the largest size that this process may write ({size(limit_bytes)})",
        ("raise the limit where the program is started: `ulimit -f unlimited`", "write smaller files"),
        f"RLIMIT_FSIZE is {size(limit_bytes)}, and the message does not speak of a full disk",
        cause=Cause.PROCESS_LIMIT,
    )


def _free(disks: tuple[Disk, ...] | None) -> Iterator[str]:
    """The room on the full disk, where it is among those that were looked at; a disk with room is not the one."""
    for disk in disks or ():
        if disk.free_bytes < max(disk.total_bytes // 50, 64 * MIB) and not disk.path.startswith("/dev/shm"):
            yield f"{disk.path} had {size(disk.free_bytes)} free of {size(disk.total_bytes)} at the end"
