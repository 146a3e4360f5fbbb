"""One process and its descendants, seen from outside through /proc.

Covers: resident memory, processor time, threads, what the main thread sleeps in, signal masks, soft limits, names, and
which processes descend from a given one.
Does not cover: a descendant that was born and lost its parent between two looks (its parent is then init) or that was
given the pid of a stranger that ended between two looks; native or Python stacks. Threads are those of the kernel;
"main" is the one whose id is the process id.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path

from crashcart.probe._read import ROOT, KeptFile, exists, read_bytes, read_text, under, whole_number

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_STAT_BYTES = 2048

# Positions in /proc/PID/stat after the closing parenthesis of the name: proc(5) counts from 1 and the state is its 3rd.
_STATE, _PARENT, _USER_TICKS, _SYSTEM_TICKS, _THREADS, _START_TICKS = 0, 1, 11, 12, 17, 19

_NO_DIRECTORY = -1
"""No open directory: every look-up below it fails with EBADF, so that an ended process reads as None."""

_ENDED = (b"Z", b"X", b"x")
_AT_RANDOM, _PAIR_BYTES = 25, struct.calcsize("@LL")

_LIMIT_NAMES = {
    "Max open files": "nofile",
    "Max processes": "nproc",
    "Max address space": "as",
    "Max data size": "data",
    "Max stack size": "stack",
    "Max core file size": "core",
    "Max locked memory": "memlock",
    "Max file size": "fsize",
    "Max cpu time": "cpu",
}
_LIMIT_NAME_WIDTH = 26


def _stat_fields(raw: bytes | None) -> list[bytes] | None:
    """The fields after the name, which may itself hold blanks and parentheses."""
    if raw is None:
        return None
    fields = raw[raw.rfind(b")") + 1 :].split()
    return fields if len(fields) > _START_TICKS else None


def _read_stat(pid: int, root: Path) -> list[bytes] | None:
    return _stat_fields(read_bytes(root, f"/proc/{pid}/stat", _STAT_BYTES))


@dataclass(frozen=True, slots=True)
class ProcessSample:
    """One process at one moment."""

    rss_bytes: int
    anon_bytes: int
    """The resident part that no file backs and nobody shares."""
    cpu_s: float
    """User and system time of all its threads since it started."""
    threads: int
    state: str
    """The kernel's letter: R running, S sleeping, D in uninterruptible sleep, T stopped…"""


class ProcessReader:
    """Reads one process again and again through open files; it never mistakes a reused pid for the process."""

    def __init__(self, pid: int, root: Path = ROOT) -> None:
        self.pid = pid
        try:
            self._directory = os.open(under(root, f"/proc/{pid}"), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            self._directory = _NO_DIRECTORY
        self._stat = self._kept("stat", _STAT_BYTES)
        self._statm = self._kept("statm", 256)
        self._main_schedstat = self._kept(f"task/{pid}/schedstat", 128)
        self._main_syscall = self._kept(f"task/{pid}/syscall", 256)

    def sample(self) -> ProcessSample | None:
        """Memory and processor time now; None once the process has ended, reaped or not."""
        stat = _stat_fields(self._stat.read())
        pages = (self._statm.read() or b"").split()
        if stat is None or stat[_STATE] in _ENDED or len(pages) < 3:
            return None
        resident, shared = int(pages[1]), int(pages[2])
        return ProcessSample(
            rss_bytes=resident * _PAGE_BYTES,
            anon_bytes=max(0, resident - shared) * _PAGE_BYTES,
            cpu_s=(int(stat[_USER_TICKS]) + int(stat[_SYSTEM_TICKS])) / _TICKS_PER_S,
            threads=int(stat[_THREADS]),
            state=stat[_STATE].decode("ascii", "replace"),
        )

    def main_thread_cpu_ns(self) -> int | None:
        """Processor time of the main thread; in steps of a clock tick where the kernel keeps no finer count."""
        fields = (self._main_schedstat.read() or b"").split()
        # A kernel without scheduler statistics writes zeros; a thread that exists has run.
        run_ns = whole_number(fields[0]) if fields else None
        if run_ns:
            return run_ns
        stat = _stat_fields(self._once(f"task/{self.pid}/stat", _STAT_BYTES))
        if stat is None:
            return None
        return (int(stat[_USER_TICKS]) + int(stat[_SYSTEM_TICKS])) * (1_000_000_000 // _TICKS_PER_S)

    def main_thread_sleeping_in(self) -> int | None:
        """The number of the system call that the main thread waits in; None where it runs or may not be asked."""
        number = whole_number((self._main_syscall.read() or b"").partition(b" ")[0])
        return None if number is None or number < 0 else number

    def start_ticks(self) -> int | None:
        """When it started, in clock ticks since boot: with the pid, this names the process for good."""
        stat = _stat_fields(self._stat.read())
        return None if stat is None else int(stat[_START_TICKS])

    def signals_caught(self) -> int | None:
        """Bit n-1 is set where signal n has a handler."""
        return self._mask("status", b"SigCgt:")

    def signals_ignored(self) -> int | None:
        """Bit n-1 is set where signal n is ignored."""
        return self._mask("status", b"SigIgn:")

    def signals_pending(self) -> int | None:
        """Bit n-1 is set where signal n waits to be taken, by the process or by its main thread."""
        shared = self._mask("status", b"ShdPnd:")
        own = self._mask("status", b"SigPnd:")
        return None if shared is None or own is None else shared | own

    def main_thread_runs(self) -> bool:
        """Whether the main thread is running or ready to run, rather than asleep."""
        stat = _stat_fields(self._once(f"task/{self.pid}/stat", _STAT_BYTES))
        return stat is not None and stat[0] == b"R"

    def signals_blocked_main(self) -> int | None:
        """Bit n-1 is set where the main thread has blocked signal n."""
        return self._mask(f"task/{self.pid}/status", b"SigBlk:")

    def close(self) -> None:
        """Give all descriptors back; afterwards every answer is None."""
        for kept in (self._stat, self._statm, self._main_schedstat, self._main_syscall):
            kept.close()
        if self._directory != _NO_DIRECTORY:
            os.close(self._directory)
            self._directory = _NO_DIRECTORY
        self._stat = self._statm = self._main_schedstat = self._main_syscall = self._kept("ended", 1)

    def _mask(self, path: str, name: bytes) -> int | None:
        _, found, rest = (self._once(path, 8192) or b"").partition(b"\n" + name)
        return int(rest.split(None, 1)[0], 16) if found else None

    def _kept(self, path: str, most_bytes: int) -> KeptFile:
        return KeptFile(path, most_bytes, self._directory)

    def _once(self, path: str, most_bytes: int) -> bytes | None:
        file = self._kept(path, most_bytes)
        try:
            return file.read()
        finally:
            file.close()


class ProcessTree:
    """The living descendants of a process, remembered across looks.

    Each look lists /proc and reads only the processes that are new, and the descendants themselves. Who was once seen
    as a descendant stays one when its parent ends and init or a subreaper adopts it.
    """

    def __init__(self, root_pid: int, root: Path = ROOT) -> None:
        self._root = root
        self._root_pid = root_pid
        self._root_start = self._start(root_pid)
        self._strangers: set[int] = set()
        self._descendants: dict[int, bytes] = {}
        """Start time by pid, to tell a descendant from a later process that was given its pid."""

    def refresh(self) -> tuple[int, ...]:
        """The pids of the descendants that are alive now, in order; the root itself is not among them."""
        present = self._present()
        self._strangers &= present
        living = self._recheck(present)
        living.update(self._adopt(present))
        return tuple(sorted(living))

    def _present(self) -> set[int]:
        try:
            with os.scandir(under(self._root, "/proc")) as entries:
                return {int(entry.name) for entry in entries if entry.name.isdigit()}
        except OSError:
            return set()

    def _recheck(self, present: set[int]) -> set[int]:
        """Look again at the known descendants; drop those whose pid is gone or belongs to another process."""
        living: set[int] = set()
        for pid, start in list(self._descendants.items()):
            stat = _read_stat(pid, self._root) if pid in present else None
            if stat is None or stat[_START_TICKS] != start:
                del self._descendants[pid]
            elif stat[_STATE] not in _ENDED:
                living.add(pid)
        return living

    def _adopt(self, present: set[int]) -> set[int]:
        """Sort the processes not seen before into descendants and strangers; return the living descendants."""
        new: dict[int, list[bytes]] = {}
        for pid in present - self._strangers - self._descendants.keys() - {self._root_pid}:
            stat = _read_stat(pid, self._root)
            if stat is not None:
                new[pid] = stat
        if not new:
            return set()
        family = set(self._descendants)
        if self._root_start is not None and self._start(self._root_pid) == self._root_start:
            family.add(self._root_pid)
        born = _descending(new, family)
        for pid in born:
            self._descendants[pid] = new[pid][_START_TICKS]
        # One whose parent was not listed may be a grandchild caught half-way: it is looked at again next time.
        listed = present | {0}
        self._strangers.update(pid for pid, stat in new.items() if pid not in born and int(stat[_PARENT]) in listed)
        return {pid for pid in born if new[pid][_STATE] not in _ENDED}

    def _start(self, pid: int) -> bytes | None:
        stat = _read_stat(pid, self._root)
        return None if stat is None else stat[_START_TICKS]


def _descending(new: dict[int, list[bytes]], family: set[int]) -> set[int]:
    """The new processes whose parent, or parent's parent…, belongs to the family."""
    parents = {pid: int(stat[_PARENT]) for pid, stat in new.items()}
    born: set[int] = set()
    generation = {pid for pid, parent in parents.items() if parent in family}
    while generation:
        born |= generation
        generation = {pid for pid, parent in parents.items() if parent in generation} - born
    return born


def rlimits(pid: int, root: Path = ROOT) -> dict[str, int | None] | None:
    """The soft limits of the process by short name; None as a value is unlimited."""
    table = read_text(root, f"/proc/{pid}/limits", 8192)
    return None if table is None else parse_limits(table)


def parse_limits(table: str) -> dict[str, int | None]:
    """The soft limits in a table such as /proc/PID/limits."""
    limits: dict[str, int | None] = {}
    for line in table.splitlines():
        name = _LIMIT_NAMES.get(line[:_LIMIT_NAME_WIDTH].strip())
        values = line[_LIMIT_NAME_WIDTH:].split()
        if name is not None and values:
            limits[name] = int(values[0]) if values[0].isdigit() else None
    return limits


def process_name(pid: int, root: Path = ROOT) -> str | None:
    """The kernel's name of the process, at most 15 characters."""
    return read_text(root, f"/proc/{pid}/comm", 64)


def thread_names(pid: int, root: Path = ROOT) -> tuple[str, ...]:
    """The kernel's names of all its threads, in order of their ids; empty once the process is gone."""
    try:
        with os.scandir(under(root, f"/proc/{pid}/task")) as entries:
            threads = sorted(int(entry.name) for entry in entries)
    except OSError:
        return ()
    names = (read_text(root, f"/proc/{pid}/task/{thread}/comm", 64) for thread in threads)
    return tuple(name for name in names if name is not None)


def is_alive(pid: int, start_ticks: int | None, root: Path = ROOT) -> bool:
    """Whether the very process that started then still runs; one that ended and was not reaped does not."""
    stat = _read_stat(pid, root)
    if stat is None or stat[_STATE] in _ENDED:
        return False
    return start_ticks is None or int(stat[_START_TICKS]) == start_ticks


def has_ended(pid: int, root: Path = ROOT) -> bool:
    """Whether the process is known to have ended, reaped or not; one whose state cannot be read is not known to."""
    stat = _read_stat(pid, root)
    return stat[_STATE] in _ENDED if stat is not None else not exists(Path(under(root, f"/proc/{pid}")))


def program_mark(pid: int, root: Path = ROOT) -> int | None:
    """An address that the kernel chose for the program that the process runs (AT_RANDOM): another program has another."""
    table = read_bytes(root, f"/proc/{pid}/auxv", 4096) or b""
    pairs = struct.iter_unpack("@LL", table[: len(table) // _PAIR_BYTES * _PAIR_BYTES])
    return next((value for kind, value in pairs if kind == _AT_RANDOM), None)


def is_ours(caught: int, number: int) -> bool:
    """Whether a caught real-time signal of crashcart's (49, 50) is likely caught by its own handler: the signals beside
    them are nobody's, unless somebody handles all there are."""
    neighbours = 1 << 47 | 1 << 50
    return bool(caught >> (number - 1) & 1) and not caught & neighbours


def largest_other(ours: set[int], group: Path | None, root: Path = ROOT) -> int | None:
    """Resident bytes of the largest process that is not ours, in a group or on the whole machine; None without any."""
    listed = read_text(Path(group), "/cgroup.procs") if group is not None else None
    if group is not None and listed is None:
        return None
    names = (
        listed.split() if listed is not None else [name for name in os.listdir(under(root, "/proc")) if name.isdigit()]
    )
    largest = None
    for pid in {int(name) for name in names} - ours:
        pages = (read_bytes(root, f"/proc/{pid}/statm", 256) or b"").split()
        if len(pages) > 1:
            largest = max(largest or 0, int(pages[1]) * _PAGE_BYTES)
    return largest


def proportional_bytes(pid: int, root: Path = ROOT) -> int | None:
    """Memory that no file backs, with pages that are shared with other processes (after a fork) counted in part."""
    table = read_bytes(root, f"/proc/{pid}/smaps_rollup", 4096)
    for name in (b"\nPss_Anon:", b"\nPss:"):
        _, found, rest = (table or b"").partition(name)
        if found:
            kibibytes = whole_number(rest.split(b"kB", 1)[0].strip())
            return None if kibibytes is None else kibibytes * 1024
    return None
