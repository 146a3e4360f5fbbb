"""How many threads and processes the control groups of a process allow.

Covers: the pids controller of cgroup v1 and v2, of the process's own group and those above it that can be seen.
Does not cover: the user's own limit (`ulimit -u`, with the other limits of the process), and the kernel's pid_max.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from crashcart.probe._mounts import locate, read_mounts
from crashcart.probe._read import ROOT, read_bytes, read_text, under, whole_number

_LIMIT = "pids.max"


def task_limits(pid: int, root: Path = ROOT) -> dict[str, int]:
    """The limits that bind the process, by the file that each is written in; empty where none is set or can be seen."""
    return dict(_limits(pid, root))


def _limits(pid: int, root: Path) -> Iterator[tuple[str, int]]:
    table = read_text(root, f"/proc/{pid}/cgroup")
    mounts = read_mounts(root, "cgroup")
    for kind, path in _paths(table or ""):
        here = [each for each in mounts if each.kind == kind and (kind == "cgroup2" or "pids" in each.options)]
        if not here:
            continue
        mount, below = locate(path, here, root, _LIMIT)
        parts = [part for part in below.split("/") if part]
        for depth in range(len(parts), -1, -1) if ".." not in parts else ():
            source = "/".join([mount.point.rstrip("/"), *parts[:depth], _LIMIT])
            most = whole_number(read_bytes(Path(under(root, source)).parent, f"/{_LIMIT}", 64))
            if most is not None:
                yield source, most


def _paths(table: str) -> Iterator[tuple[str, str]]:
    """The kind of mount and the path in it, from /proc/PID/cgroup: the controller is in version 1 or in version 2."""
    for line in table.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if "pids" in controllers.split(","):
            yield "cgroup", path
        elif number == "0" and not controllers:
            yield "cgroup2", path
