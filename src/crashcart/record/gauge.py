"""One reading of everything that bounds the program's memory, cheap enough to take a hundred times a second.

Covers: the program's and its descendants' resident size, and use against the tightest of its groups and the machine.
Does not cover: how often to read (`pace.py`). Page cache that the kernel would drop is not counted as use; that figure
is dear to read (the kernel sums it up on demand), so it is refreshed once a second, and more often only where use changes
much or comes near the limit; so is the limit itself, which may be changed while the program runs. Where a group may use
swap, both use and limit are those of memory and swap together.
"""

from __future__ import annotations

from crashcart.probe.gpu import GpuReader
from crashcart.probe.memory import MemoryGroup, Swap, find_groups, group_swap, read_host
from crashcart.probe.process import ProcessReader, ProcessSample, ProcessTree, process_name, proportional_bytes
from crashcart.sample import Sample

REFRESH_FAR_S = 1.0
REFRESH_NEAR_S = 0.02
NEAR_FRACTION = 0.8
MOVED_FRACTION = 0.02
"""What came or went since the last reading may have been page cache."""
TREE_S = 1.0
GPU_S = 1.0
SHARING_FRACTION, SHARING_S = 0.6, 0.5


class Bound:
    """One memory group, its limit and the reclaimable part of its use as last read."""

    def __init__(self, group: MemoryGroup) -> None:
        self.group = group
        self._limit_bytes: int | None = None
        self._reclaimable_bytes = 0
        self._read_at_s = self._asked_at_s = float("-inf")
        self._usage_bytes = 0

    def read(self, at_s: float, swap: Swap) -> tuple[int, int] | None:
        """Use without the page cache that can be dropped, and the limit; None where there is none. Swap that others have
        taken counts as used: it is not there for the group any more."""
        limit = self._limit_bytes if self._limit_bytes is not None else self._new_limit(at_s)
        usage = self.group.usage_bytes() if limit is not None else None
        if limit is None or usage is None:
            return None
        near = usage >= NEAR_FRACTION * limit
        moved = abs(usage - self._usage_bytes) >= MOVED_FRACTION * limit
        if at_s - self._read_at_s >= (REFRESH_NEAR_S if near or moved else REFRESH_FAR_S):
            self._reclaimable_bytes = self.group.reclaimable_bytes() or 0
            self._limit_bytes = self.group.limit_bytes()
            self._read_at_s, self._usage_bytes = at_s, usage
        if self._limit_bytes is None:
            return None
        used_bytes = max(0, usage - self._reclaimable_bytes)
        return used_bytes + swap.total_bytes - swap.free_bytes, self._limit_bytes + swap.total_bytes

    def _new_limit(self, at_s: float) -> int | None:
        """A group without a limit is looked at once a second: it may be given one."""
        if at_s - self._asked_at_s >= REFRESH_FAR_S:
            self._asked_at_s = at_s
            self._limit_bytes = self.group.limit_bytes()
        return self._limit_bytes


class Gauge:
    """Reads one program's memory against its bounds."""

    def __init__(self, pid: int, gpu: GpuReader | None = None, ceiling_bytes: int | None = None) -> None:
        self.pid = pid
        self.ceiling_bytes = ceiling_bytes
        """A limit that no kernel enforces, on what the program and its descendants hold."""
        self.process = ProcessReader(pid)
        self.groups = find_groups(pid)
        self.bounds = [Bound(group) for group in self.groups]
        self.tree = ProcessTree(pid)
        self.descendants: dict[int, tuple[str, int]] = {}
        """Name and last resident bytes of each living descendant."""
        self.gone: list[tuple[int, str, int]] = []
        """Descendants that ended since this list was last emptied: pid, name, last resident bytes."""
        self.cpu_s = 0.0
        """Processor seconds of the program and its descendants, those that ended included."""
        self._cpu_seen_s: dict[int, float] = {}
        self._anon_bytes: dict[int, int] = {}
        self._touched_bytes = 0
        self._readers: dict[int, ProcessReader] = {}
        self._tree_at_s = float("-inf")
        self._gpu = gpu
        self._gpu_next_s = 0.0
        self._gpu_used_bytes: int | None = None
        self._own_bytes = 0
        self._sharing, self._sharing_next_s = 1.0, 0.0

    def read(self, at_s: float, near: bool) -> Sample | None:
        """A sample, or None once the program is gone."""
        own = self.process.sample()
        if own is None or own.rss_bytes == 0:  # a process that is being ended has given its memory back already
            return None
        if at_s - self._tree_at_s >= (TREE_S / 5 if near else TREE_S):
            self._tree_at_s = at_s
            self.refresh_tree()
        self._count(self.pid, own)
        below_bytes = self._descendants_bytes()
        self._own_bytes = own.rss_bytes
        used_bytes, limit_bytes = self._tightest(at_s, own.anon_bytes + below_bytes)
        return Sample(
            round(at_s, 3), own.rss_bytes, own.rss_bytes + below_bytes, used_bytes, limit_bytes, round(self.cpu_s, 3),
            own.threads, len(self.descendants), self._gpu_bytes(at_s), self._touched_bytes,
        )  # fmt: skip

    def _gpu_bytes(self, at_s: float) -> int | None:
        """The driver is asked once a second; between, the last answer stands."""
        if self._gpu is not None and at_s >= self._gpu_next_s:
            self._gpu_next_s = at_s + GPU_S
            self._gpu_used_bytes = self._gpu.used_bytes(self.pid)
        return self._gpu_used_bytes

    def refresh_tree(self) -> None:
        """Look for new descendants and for those that are gone."""
        alive = set(self.tree.refresh())
        for pid in alive - self._readers.keys():
            self._readers[pid] = ProcessReader(pid)
            self.descendants[pid] = (process_name(pid) or "?", 0)
        for pid in self._readers.keys() - alive:
            self._forget(pid)

    def _forget(self, pid: int) -> None:
        self._readers.pop(pid).close()
        self._cpu_seen_s.pop(pid, None)
        self._anon_bytes.pop(pid, None)
        name, rss_bytes = self.descendants.pop(pid)
        self.gone.append((pid, name, rss_bytes))

    def _descendants_bytes(self) -> int:
        total = 0
        for pid, reader in list(self._readers.items()):
            sample = reader.sample()
            if sample is None:
                self._forget(pid)
            else:
                self.descendants[pid] = (self.descendants[pid][0], sample.rss_bytes)
                self._count(pid, sample)
                total += sample.anon_bytes
        return total

    def resident(self) -> dict[int, int]:
        """Resident bytes by process as last read, the program itself first."""
        return {self.pid: self._own_bytes, **{pid: count for pid, (_, count) in self.descendants.items()}}

    def _tightest(self, at_s: float, held_bytes: int) -> tuple[int | None, int | None]:
        """Use and limit where the least is left."""
        host = read_host()
        found: list[tuple[int, int]] = []
        if self.ceiling_bytes is not None:
            found.append((self._unshared(at_s, held_bytes), self.ceiling_bytes))
        if host is not None and host.total_bytes is not None and host.available_bytes is not None:
            free_bytes = host.available_bytes + (host.swap_free_bytes or 0)
            found.append((max(0, host.total_bytes - free_bytes), host.total_bytes))
        swap = group_swap(self.groups, host)
        found += [pair for bound in self.bounds if (pair := bound.read(at_s, swap)) is not None]
        return min(found, key=lambda pair: pair[1] - pair[0], default=(None, None))

    def _unshared(self, at_s: float, held_bytes: int) -> int:
        """What the processes hold together; near the ceiling, pages that they share after a fork are counted once."""
        assert self.ceiling_bytes is not None
        if not self._readers or held_bytes < SHARING_FRACTION * self.ceiling_bytes:
            return held_bytes
        if at_s >= self._sharing_next_s:
            self._sharing_next_s = at_s + SHARING_S
            parts = [proportional_bytes(pid) for pid in (self.pid, *self._readers)]
            self._sharing = sum(part or 0 for part in parts) / held_bytes if None not in parts else 1.0
        return int(min(1.0, self._sharing) * held_bytes)

    def close(self) -> None:
        """Give all descriptors back."""
        for reader in (self.process, *self._readers.values()):
            reader.close()
        for group in self.groups:
            group.close()

    def _count(self, pid: int, sample: ProcessSample) -> None:
        """A process that is seen for the first time brings nothing of its own: what it has may be its parent's."""
        self.cpu_s += max(0.0, sample.cpu_s - self._cpu_seen_s.get(pid, 0.0))
        self._cpu_seen_s[pid] = sample.cpu_s
        self._touched_bytes += sample.anon_bytes - self._anon_bytes.get(pid, sample.anon_bytes)
        self._anon_bytes[pid] = sample.anon_bytes
