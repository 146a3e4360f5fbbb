"""Free space of the file systems that hold given paths.

Covers: size, space that an ordinary user may still take, and the kind of file system; /dev/shm always counts in, as
shared memory runs out like a disk.
Does not cover: quotas, free inodes, and remote file systems that do not answer: asking those may block.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from crashcart.ground import Disk
from crashcart.probe._mounts import Mount, read_mounts
from crashcart.probe._read import ROOT, exists, under

_SHARED_MEMORY = "/dev/shm"


def read_disks(paths: Iterable[str], root: Path = ROOT) -> tuple[Disk, ...]:
    """One entry per file system, named by its mount point, in the order in which the paths first touch them.

    A path that is not there yet counts for the directory that it would be made in.
    """
    mounts = read_mounts(root)
    disks: dict[str, Disk] = {}
    shared = [_SHARED_MEMORY] if exists(Path(under(root, _SHARED_MEMORY))) else []
    for path in [*paths, *shared]:
        place = _existing(path, root)
        if place is None:
            continue
        try:
            mount = _mount_of(_shown(place, root), mounts)
            key = mount.device if mount else str(place.stat().st_dev)
            if key not in disks:
                disks[key] = _disk(place, mount, root)
        except OSError:
            continue
    return tuple(disk for disk in disks.values() if disk.total_bytes > 0)


def _existing(path: str, root: Path) -> Path | None:
    """The path itself, or the nearest directory above it that is there."""
    if not path:
        return None
    asked = Path(under(root, path))
    return next((each for each in (asked, *asked.parents) if exists(each)), None)


def _shown(place: Path, root: Path) -> str:
    """The path as the mount table has it: without links and without the root that tests set."""
    real, real_root = place.resolve(), root.resolve()
    return "/" + str(real.relative_to(real_root)) if real.is_relative_to(real_root) else str(real)


def _mount_of(path: str, mounts: tuple[Mount, ...]) -> Mount | None:
    """The deepest mount above the path; of two on one point, the later hides the earlier."""
    found = None
    for mount in mounts:
        inside = mount.point == "/" or path == mount.point or path.startswith(mount.point + "/")
        if inside and (found is None or len(mount.point) >= len(found.point)):
            found = mount
    return found


def _disk(place: Path, mount: Mount | None, root: Path) -> Disk:
    space = os.statvfs(place)
    return Disk(
        path=mount.point if mount else _shown(place, root),
        total_bytes=space.f_blocks * space.f_frsize,
        free_bytes=space.f_bavail * space.f_frsize,
        kind=mount.kind if mount else None,
    )
