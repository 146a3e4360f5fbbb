"""How much memory there is, how much is used, and which bounds hold for one process.

Covers: the machine's memory, memory groups of cgroup v1 and v2 (nested, namespaced, bind-mounted into a container, both
versions side by side), the swap that a group of v2 may use, kills by the kernel for lack of memory, and the address-space
limits of the process.
Does not cover: bounds set above the container, which the container cannot see (cgroup v1 still tells the tightest of
them; v2 does not), swap limits of cgroup v1, `memory.high`, and memory of devices (`gpu`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crashcart.ground import MemoryLimit
from crashcart.probe._mounts import Mount, locate, read_mounts
from crashcart.probe._read import ROOT, KeptFile, counter, exists, read_bytes, read_text, under, whole_number
from crashcart.probe.process import rlimits

# An unlimited v1 group shows the largest signed number rounded down to a page; no machine has an exbibyte.
_UNLIMITED_BYTES = 1 << 60
_SWAPPINESS = "/proc/sys/vm/swappiness"


@dataclass(frozen=True, slots=True)
class HostMemory:
    """The machine's memory at one moment; a field that this kernel does not show is None."""

    total_bytes: int | None
    available_bytes: int | None
    swap_total_bytes: int | None
    swap_free_bytes: int | None


def read_host(root: Path = ROOT) -> HostMemory | None:
    """The machine's memory from /proc/meminfo."""
    table = read_bytes(root, "/proc/meminfo", 4096)
    if table is None:
        return None
    return HostMemory(*(_meminfo(table, name) for name in (b"MemTotal", b"MemAvailable", b"SwapTotal", b"SwapFree")))


def _meminfo(table: bytes, name: bytes) -> int | None:
    start = table.find(name + b":")
    if start < 0:
        return None
    kibibytes = whole_number(table[start + len(name) + 1 :].split(b"kB", 1)[0].strip())
    return None if kibibytes is None else kibibytes * 1024


def oom_kills_host(root: Path = ROOT) -> int | None:
    """How many processes the kernel has killed for lack of memory since boot, in groups and outside."""
    return counter(read_bytes(root, "/proc/vmstat", 1 << 16), b"oom_kill")


@dataclass(frozen=True, slots=True)
class _Files:
    """What one version of memory groups calls its files and fields."""

    limit: str
    usage: str
    reclaimable: tuple[bytes, bytes]
    kills: str
    hits: tuple[str, bytes]


_FILES = {
    1: _Files(
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        (b"total_inactive_file", b"total_active_file"),
        "memory.oom_control",
        ("memory.failcnt", b""),
    ),
    2: _Files(
        "memory.max", "memory.current", (b"inactive_file", b"active_file"), "memory.events", ("memory.events", b"max")
    ),
}


class MemoryGroup:
    """One memory group (cgroup): what it may use, what it uses, and how often the kernel killed in it."""

    def __init__(self, version: int, path: Path, shown: str) -> None:
        self.version = version
        self.path = path
        self._names = _FILES[version]
        self.limit_source = f"{shown.rstrip('/')}/{self._names.limit}"
        self._usage = KeptFile(f"{path}/{self._names.usage}", 64)
        self._stat = KeptFile(f"{path}/memory.stat", 16384)

    def limit_bytes(self) -> int | None:
        """The group's own limit; None where it is unlimited (or gone)."""
        limit = whole_number(self._read(self._names.limit))
        return None if limit is None or limit >= _UNLIMITED_BYTES else limit

    def usage_bytes(self) -> int | None:
        """What counts against the limit, page cache included; one read of one open file."""
        return whole_number(self._usage.read())

    def reclaimable_bytes(self) -> int | None:
        """Page cache of this group and those below it, which the kernel drops before it kills; mapped or dirty pages of it
        may have to stay for a while."""
        table = self._stat.read()
        found = [counter(table, name) for name in self._names.reclaimable]
        return None if None in found else sum(each for each in found if each is not None)

    def oom_kills(self) -> int | None:
        """How many processes of the group the kernel has killed for lack of memory, whoever ran short of it.

        A kill counts in the victim's group also when it was the machine that ran out. Version 1 counts in the victim's
        own group only, version 2 in all groups above it as well.
        """
        return counter(self._read(self._names.kills), b"oom_kill")

    def limit_hits(self) -> int | None:
        """How often the group's usage ran into its own limit, whether or not dropping page cache was enough."""
        name, field = self._names.hits
        table = self._read(name)
        return counter(table, field) if field else whole_number(table)

    def hierarchical_limit_bytes(self) -> int | None:
        """Version 1: the tightest limit of this group and all above it, even those that cannot be seen from here."""
        limit = counter(self._stat.read(), b"hierarchical_memory_limit") if self.version == 1 else None
        return None if limit is None or limit >= _UNLIMITED_BYTES else limit

    def swap_bounds(self) -> tuple[int | None, int] | None:
        """How much of the group may be on swap (None for no limit), and how much is; None where that is not told."""
        used = whole_number(self._read("memory.swap.current")) if self.version == 2 else None
        most = self._read("memory.swap.max")
        return None if used is None or most is None else (whole_number(most), used)

    def close(self) -> None:
        """Give the descriptors back."""
        self._usage.close()
        self._stat.close()

    def _read(self, name: str) -> bytes | None:
        return read_bytes(self.path, "/" + name, 4096)


def find_groups(pid: int, root: Path = ROOT) -> tuple[MemoryGroup, ...]:
    """The process's own memory group first, then those above it, as far as they are visible and bind it."""
    table = read_text(root, f"/proc/{pid}/cgroup")
    if table is None:
        return ()
    paths = _group_paths(table)
    mounts = read_mounts(root, "cgroup")
    for version, kind in ((1, "cgroup"), (2, "cgroup2")):
        here = [each for each in mounts if each.kind == kind and (version == 2 or "memory" in each.options)]
        if version in paths and here:
            groups = _chain(version, paths[version], here, root)
            if groups:
                return groups
    return ()


def _group_paths(table: str) -> dict[int, str]:
    """Where the process is in the memory hierarchy of version 1 and in version 2, from /proc/PID/cgroup."""
    paths: dict[int, str] = {}
    for line in table.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if "memory" in controllers.split(","):
            paths[1] = path
        elif number == "0" and not controllers:
            paths[2] = path
    return paths


def _chain(version: int, path: str, mounts: list[Mount], root: Path) -> tuple[MemoryGroup, ...]:
    mount, below = locate(path, mounts, root, _FILES[version].usage)
    groups: list[MemoryGroup] = []
    parts = [part for part in below.split("/") if part]
    if ".." in parts:
        return ()  # The process is outside the part of the hierarchy that our cgroup namespace shows.
    for depth in range(len(parts), -1, -1):
        shown = "/".join([mount.point.rstrip("/"), *parts[:depth]])
        directory = Path(under(root, shown))
        if groups and read_bytes(directory, "/memory.use_hierarchy", 16) == b"0\n":
            break  # Before Linux 5.11 a group could be set not to charge the groups above it.
        if exists(directory / _FILES[version].usage):
            groups.append(MemoryGroup(version, directory, shown))
    return tuple(groups)


@dataclass(frozen=True, slots=True)
class Swap:
    """What a process in a group may have on swap at most, and what of it is free for it now."""

    total_bytes: int = 0
    free_bytes: int = 0


def group_swap(groups: Sequence[MemoryGroup], host: HostMemory | None, root: Path = ROOT) -> Swap:
    """The swap that the kernel would use before it kills in the first of the groups; none where that is not told, and none
    where it never swaps for the sake of a group (vm.swappiness = 0)."""
    if host is None or not host.swap_total_bytes or whole_number(read_bytes(root, _SWAPPINESS, 64)) == 0:
        return Swap()
    total, free = host.swap_total_bytes, host.swap_free_bytes or 0
    for group in groups:
        bounds = group.swap_bounds()
        if bounds is None:
            return Swap()
        most, used = bounds
        if most is not None:
            total, free = min(total, most), min(free, max(0, most - used))
    return Swap(total, min(total, free))


def memory_limits(pid: int, root: Path = ROOT) -> tuple[MemoryLimit, ...]:
    """All bounds on the process's memory that are known; a group's limit above the machine's memory bounds nothing."""
    host = read_host(root)
    ram_bytes = None if host is None else host.total_bytes
    limits = [each for each in _group_limits(pid, root) if ram_bytes is None or each.bytes < ram_bytes]
    if ram_bytes is not None:
        limits.append(MemoryLimit("machine", ram_bytes, "/proc/meminfo MemTotal"))
    soft = rlimits(pid, root) or {}
    for kind, name, words in (
        ("address-space", "as", "Max address space"),
        ("data-segment", "data", "Max data size"),
    ):
        bound = soft.get(name)
        if bound is not None:
            limits.append(MemoryLimit(kind, bound, f"/proc/{pid}/limits {words}"))
    return tuple(limits)


def _group_limits(pid: int, root: Path) -> list[MemoryLimit]:
    groups = find_groups(pid, root)
    try:
        known = [(group.limit_bytes(), group.limit_source) for group in groups]
        limits = [MemoryLimit("container", bound, source) for bound, source in known if bound is not None]
        hidden = groups[-1].hierarchical_limit_bytes() if groups else None
        if hidden is not None and all(hidden < each.bytes for each in limits):
            stat = groups[-1].limit_source.replace("memory.limit_in_bytes", "memory.stat hierarchical_memory_limit")
            limits.append(MemoryLimit("container", hidden, stat))
        return limits
    finally:
        for group in groups:
            group.close()


def rooms(pid: int, root: Path = ROOT) -> list[tuple[int, str]]:
    """What is left now in each of a process's memory groups (container) and on the machine, with what can be reclaimed."""
    found = []
    groups = find_groups(pid, root)
    try:
        for group in groups:
            limits = [each for each in (group.limit_bytes(), group.hierarchical_limit_bytes()) if each is not None]
            usage = group.usage_bytes()
            if limits and usage is not None:
                used = max(0, usage - (group.reclaimable_bytes() or 0))
                found.append((max(0, min(limits) - used), "container"))
    finally:
        for group in groups:
            group.close()
    host = read_host(root)
    if host is not None and host.available_bytes is not None:
        found.append((host.available_bytes, "machine"))
    return found
