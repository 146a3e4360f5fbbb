"""The mounts that this process sees, from /proc/self/mountinfo.

Covers: mount point, the part of the file system it shows, kind, device number, super-block options.
Does not cover: mounts of other mount namespaces: their paths would mean nothing to us.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from crashcart.probe._read import ROOT, exists, read_text, under

_ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of mountinfo."""

    device: str
    root: str
    """Which directory of the file system is mounted; / is all of it."""
    point: str
    kind: str
    options: tuple[str, ...]

    def covers(self, path: str) -> bool:
        """Whether a path of the file system is shown by this mount."""
        return self.root == "/" or path == self.root or path.startswith(self.root + "/")

    def below(self, path: str) -> str:
        """Where a covered path of the file system is below the mount point ("" is the mount point itself)."""
        return ("" if path == "/" else path) if self.root == "/" else path[len(self.root) :]


def read_mounts(root: Path = ROOT, kind_prefix: str = "") -> tuple[Mount, ...]:
    """All mounts whose kind begins so, in order; a later one hides an earlier one on the same point.

    A machine that runs containers has hundreds of mounts with kilobytes of options: only those asked for are kept.
    """
    lines = (read_text(root, "/proc/self/mountinfo") or "").splitlines()
    found = (_parse(line) for line in lines if f" - {kind_prefix}" in line)
    return tuple(mount for mount in found if mount is not None)


def locate(path: str, mounts: list[Mount], root: Path, landmark: str) -> tuple[Mount, str]:
    """The mount that shows a control group (the landmark is a file in it), and the group's path below its mount point.

    In a container without its own cgroup namespace the path is the host's, and the mount shows only the part of the
    hierarchy that its root field names. Where no mount covers the path, the top of a mount is the best that is visible:
    its limit binds everything in the container.
    """
    covering = sorted((each for each in mounts if each.covers(path)), key=lambda each: len(each.root))
    for mount in covering:
        below = mount.below(path)
        if exists(Path(under(root, mount.point) + below, landmark)):
            return mount, below
    return (covering[0], covering[0].below(path)) if covering else (mounts[0], "")


def _parse(line: str) -> Mount | None:
    """`36 35 98:0 /part /point rw,noatime master:1 - ext3 /dev/sda rw,errors=continue`; tags before the dash vary."""
    left, dash, right = line.partition(" - ")
    fields, rest = left.split(), right.split()
    if not dash or len(fields) < 5 or not rest:
        return None
    options = rest[2].split(",") if len(rest) > 2 else []
    return Mount(fields[2], _plain(fields[3]), _plain(fields[4]), rest[0], tuple(options))


def _plain(path: str) -> str:
    """Undo the octal escapes of blanks and backslashes."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), path)
