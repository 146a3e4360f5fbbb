"""Where the airbag may lie, and how large it may grow.

Covers: choosing a directory on a real disk with room, the bound and the free space that must remain, and the words for
why there is none.
Does not cover: the file itself, which the airbag makes (unlinked) inside the program.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from crashcart.probe.disk import read_disks
from crashcart.units import GIB, size

ROOT = Path("/")
VARIABLE = "CRASHCART_AIRBAG"
"""A directory for the airbag, or `off`."""
MEMORY_KINDS = frozenset({"tmpfs", "ramfs", "hugetlbfs", "devtmpfs"})
NETWORK_KINDS = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "glusterfs", "lustre", "fuse.sshfs"})
FLOOR_BYTES = 2 * GIB
FLOOR_SHARE = 0.02
DISK_SHARE = 0.5
LIMIT_TIMES = 2
LEAST_WISH_BYTES = 16 * GIB
"""One scratch buffer of a convolution may be many times larger than a small container."""
LEAST_BYTES = 256 * 1024**2


@dataclass(frozen=True, slots=True)
class Place:
    """A directory for the airbag, or none and why."""

    directory: str
    bound_bytes: int
    floor_bytes: int
    reason: str
    """Why there is none; empty where there is."""


def find_place(folder: Path, limit_bytes: int | None, asked: str | None = None, root: Path = ROOT) -> Place:
    """The first directory that will do: the one asked for and no other, or beside the recording, or a temporary one."""
    if asked == "off":
        return _none("switched off")
    candidates = [asked] if asked else [str(folder), os.environ.get("TMPDIR", ""), "/var/tmp", "/tmp"]
    reasons = []
    for candidate in candidates:
        place = _judge(candidate, limit_bytes, root) if candidate else _none("")
        if not place.reason and place.directory:
            return place
        reasons.append(place.reason)
    return _none("; ".join(dict.fromkeys(reason for reason in reasons if reason)) or "no directory was found")


def _none(reason: str) -> Place:
    return Place("", 0, 0, reason)


def _judge(directory: str, limit_bytes: int | None, root: Path) -> Place:
    if not Path(directory).is_dir():
        return _none(f"{directory} is not a directory")
    if not os.access(directory, os.W_OK | os.X_OK):
        return _none(f"{directory} cannot be written")
    disk = next(iter(read_disks([directory], root)), None)
    if disk is None:
        return _none(f"the disk of {directory} cannot be read")
    if disk.kind in MEMORY_KINDS:
        return _none(f"{directory} is memory itself ({disk.kind})")
    if disk.kind in NETWORK_KINDS:
        return _none(f"{directory} is on the network ({disk.kind})")
    floor_bytes = max(FLOOR_BYTES, int(FLOOR_SHARE * disk.total_bytes))
    bound_bytes = int(min(_wish(limit_bytes), DISK_SHARE * disk.free_bytes, disk.free_bytes - floor_bytes))
    if bound_bytes < LEAST_BYTES:
        return _none(f"{directory} has only {size(disk.free_bytes)} free")
    return Place(str(Path(directory).resolve()), bound_bytes, floor_bytes, "")


def _wish(limit_bytes: int | None) -> int:
    return max(LEAST_WISH_BYTES, LIMIT_TIMES * (limit_bytes or 0))
