"""A child process that is held to a memory limit, and whose answers are read while it runs.

Covers: a memory group below our own (cgroup v1; v2 where memory was delegated to us); where none can be made, a watcher that ends
the child above its limit, with RLIMIT_DATA behind it for growth that is faster than the watcher looks. Time, and output of any
length. A limit holds for the whole process, or for what it grows by after a moment that the child names (`Hold.begin`).
Does not cover: what the child does. Without a group, only the child itself is watched, not the processes that it starts.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from crashcart.cli.child import end_with, first_to_go
from crashcart.probe.memory import MemoryGroup, find_groups, rooms
from crashcart.probe.own_memory import status_bytes

# A child at 1 GB/s, faster than TensorFlow fills memory on any machine seen, grows by 20 MB between two looks.
_WATCH_S = 0.02
_LOOK_S = 0.2
# What a process reserves and never touches counts for RLIMIT_DATA: stacks of threads (8 MiB each), heaps of threads.
_UNTOUCHED_BYTES = 512 << 20
# The most that glibc asks for at once for itself: twice a thread's heap of 64 MiB, to align it.
_NEAR_BYTES = 128 << 20
_REFUSED = re.compile(
    rb"bad_alloc|cannot allocate|(failed|unable) to allocate|out of memory|OOM when|MemoryError|resource exhausted",
    re.I,
)
_MOST_SAID_BYTES = 1 << 16
_DRAIN_S = 0.5
# Left to the rest of the machine, whatever a trial is allowed: a twentieth, and no less than what a desktop needs to breathe.
_RESERVE_FRACTION, _RESERVE_BYTES = 0.05, 256 << 20
_PREFIX = "crashcart-fit-"
# A group is entered within seconds after it was made; one of another pid namespace may look as if its maker was gone.
_STALE_S = 60.0
_LIMIT_FILES = {1: ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"), 2: ("memory.max", "memory.swap.max")}
_FILE_FIELDS = {1: ("cache", "mapped_file"), 2: ("file", "file_mapped")}


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended, and what it said before."""

    answers: tuple[dict[str, Any], ...]
    code: int | None
    """Its exit status, negative for a signal; None where it was ended by us."""
    by: str
    """itself, limit or time"""
    held: str
    """What it was held by, in words."""
    said: str
    """The end of what it printed."""


@dataclass(frozen=True, slots=True)
class Hold:
    """What a child is held by. It is handed to the child, which enters it before anything else runs."""

    most_bytes: int
    """What it may take at all, from its first moment."""
    limit_bytes: int | None = None
    """What it may take after `begin`."""
    growth: bool = False
    """Whether that limit counts what it grows by after `begin`; else it counts the whole process."""
    group: str | None = None
    version: int = 0
    parent: int | None = None
    """The process that runs the child."""

    def enter(self, say: Callable[[dict[str, Any]], None] | None = None) -> Hold:
        """In the child, first of all: not to outlive the parent, the first to go, and into the group. What it is held by then:
        where the group refuses, `say` tells the parent, which watches instead."""
        if self.parent is not None:
            end_with(self.parent)
        first_to_go()
        if self.group is None:
            return self
        try:
            Path(self.group, "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
        except OSError:
            if say is None:
                raise
            say({"ungrouped": True})
            return replace(self, group=None)
        return self

    def begin(self) -> int:
        """In the child: from here on the limit holds. What the process holds now."""
        before_bytes = status_bytes("VmRSS")
        if self.limit_bytes is None:
            return before_bytes
        more_bytes = max(0, self.limit_bytes - (0 if self.growth else before_bytes))
        if self.group is not None:
            _bound_group(Path(self.group), self.version, self.most_bytes, more_bytes)
        else:
            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            bound = status_bytes("VmData") + more_bytes + _UNTOUCHED_BYTES
            resource.setrlimit(resource.RLIMIT_DATA, (bound if hard < 0 else min(bound, hard), hard))
        return before_bytes

    def bound_bytes(self, before_bytes: int) -> int:
        """What the whole process may hold once it has begun."""
        if self.limit_bytes is None:
            return self.most_bytes
        return min(self.most_bytes, self.limit_bytes + (before_bytes if self.growth else 0))


def set_limit(group: Path, version: int, limit_bytes: int) -> None:
    """Bound the group, and its swap: a step that swaps is no step that fits."""
    memory, swap = _LIMIT_FILES[version]
    (group / memory).write_text(str(limit_bytes), encoding="ascii")
    with contextlib.suppress(OSError):  # swap is not always counted
        (group / swap).write_text(str(limit_bytes) if version == 1 else "0", encoding="ascii")


def _bound_group(group: Path, version: int, most_bytes: int, more_bytes: int) -> None:
    """Let the group grow by so much. Files in the page cache that nobody has mapped do not count: the kernel drops those first,
    and where it cannot do so at once, they count."""
    found = _as_group(str(group))
    try:
        used, table = found.usage_bytes() or 0, (group / "memory.stat").read_text(encoding="ascii")
    finally:
        found.close()
    stat = dict(line.split(" ", 1) for line in table.splitlines() if " " in line)
    cached, mapped = (int(stat.get(each, 0)) for each in _FILE_FIELDS[version])
    try:
        set_limit(group, version, min(most_bytes, used - max(0, cached - mapped) + more_bytes))
    except OSError:
        set_limit(group, version, min(most_bytes, used + more_bytes))


def _as_group(path: str) -> MemoryGroup:
    version = 1 if Path(path, _LIMIT_FILES[1][0]).exists() else 2
    return MemoryGroup(version, Path(path), path)


def spare_bytes() -> int:
    """What a child may take here without danger to others: by the machine, and by the groups that we are in."""
    free = [each for each, _ in rooms(os.getpid())]
    if not free:
        return sys.maxsize
    least = min(free)
    return max(0, least - max(int(least * _RESERVE_FRACTION), _RESERVE_BYTES))


@contextlib.contextmanager
def held(most_bytes: int, limit_bytes: int | None = None, growth: bool = False, grouped: bool = True) -> Iterator[Hold]:
    """A hold for one child: in a group where one can be made. Nothing is left of it afterwards."""
    made = _made_group(most_bytes) if grouped else None
    if made is None:
        yield Hold(most_bytes, limit_bytes, growth)
        return
    path, version = made
    try:
        yield Hold(most_bytes, limit_bytes, growth, str(path), version)
    finally:
        _remove(path)


def no_group() -> str | None:
    """Why no memory group can be made here; None where one can."""
    made = _made_group(1 << 40)
    if made is None:
        return "no memory group can be made here (it needs a memory cgroup that this user may write to)"
    _remove(made[0])
    return None


def _made_group(most_bytes: int) -> tuple[Path, int] | None:
    """Below our own group, so that its bounds hold for the child too. A group of version 2 that holds processes cannot have
    groups with limits below it, so there the ones above are tried as well."""
    groups = find_groups(os.getpid())
    try:
        for group in groups:
            if group.version == 2 and not os.access(group.path / "cgroup.procs", os.W_OK):
                continue  # nobody may be moved across it
            _sweep(group.path)
            path = group.path / f"{_PREFIX}{os.getpid()}-{time.monotonic_ns()}"
            try:
                path.mkdir()
            except OSError:
                continue
            try:
                set_limit(path, group.version, most_bytes)
                return path, group.version
            except OSError:
                path.rmdir()
            if group.version == 1:
                break
    finally:
        for group in groups:
            group.close()
    return None


def _sweep(directory: Path) -> None:
    """Remove what earlier runs of ours left because they were killed; a group with processes in it cannot be removed."""
    for path in directory.glob(f"{_PREFIX}*"):
        pid = path.name.removeprefix(_PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):
            if not Path("/proc", pid).exists() and time.time() - path.stat().st_mtime > _STALE_S:
                path.rmdir()


def _remove(group: Path) -> None:
    for _ in range(100):
        with contextlib.suppress(OSError):
            for pid in (group / "cgroup.procs").read_text(encoding="ascii").split():
                os.kill(int(pid), signal.SIGKILL)
        try:
            group.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.05)


def run(
    command: Sequence[str],
    hold: Hold,
    timeout_s: float,
    environment: Mapping[str, str],
    heard: Callable[[dict[str, Any]], None] | None = None,
) -> Ended:
    """Run a Python command that takes a hold (JSON) and a descriptor for its answers (lines of JSON) as its last arguments."""
    ours, theirs = os.pipe()
    child = subprocess.Popen(
        [*command, json.dumps(asdict(replace(hold, parent=os.getpid()))), str(theirs)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(theirs,),
        env=dict(environment),
        start_new_session=True,
    )
    os.close(theirs)
    watch = _Watch(child, ours, hold, heard)
    try:
        by = watch.followed(time.monotonic() + timeout_s)
    finally:
        watch.close()
        _end(child)
        os.close(ours)
        assert child.stdout is not None
        child.stdout.close()
    return Ended(tuple(watch.answers), None if by != "itself" else child.returncode, watch.cause(by), *watch.words())


def _end(child: subprocess.Popen[bytes]) -> None:
    """Its session is its own: nothing of ours is in it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


class _Watch:
    """One child while it runs: both its pipes are read, so that it never waits for us, and its memory is looked at."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        answers: int,
        hold: Hold,
        heard: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        assert child.stdout is not None
        self.answers: list[dict[str, Any]] = []
        self._child, self._hold, self._heard = child, hold, heard
        self._most_bytes = hold.most_bytes
        self._said, self._line = bytearray(), bytearray()
        self._kills = 0
        self._began, self._room_bytes = False, sys.maxsize
        self._selector = selectors.DefaultSelector()
        for pipe, reader in ((answers, self._answered), (child.stdout.fileno(), self._printed)):
            os.set_blocking(pipe, False)
            self._selector.register(pipe, selectors.EVENT_READ, reader)

    def followed(self, deadline_s: float) -> str:
        """Read until its end; who ended it: itself, the limit (ours) or time."""
        while self._child.poll() is None:
            look_s = _LOOK_S if self._hold.group is not None else _WATCH_S
            if time.monotonic() > deadline_s:
                return "time"
            self._read(min(look_s, max(0.0, deadline_s - time.monotonic())))
            if self._hold.group is None and self._is_above():
                return "limit"
        over_s = time.monotonic() + _DRAIN_S
        while self._read(0.0) and time.monotonic() < over_s:
            continue
        self._kills = self._group_kills()
        return "itself"

    def _is_above(self) -> bool:
        if self._began and self._hold.limit_bytes is not None:
            with contextlib.suppress(OSError):
                bound, _ = resource.prlimit(self._child.pid, resource.RLIMIT_DATA)
                data = status_bytes("VmData", self._child.pid)
                self._room_bytes = min(self._room_bytes, bound - data if bound >= 0 and data else sys.maxsize)
        return status_bytes("VmRSS", self._child.pid) > self._most_bytes

    def close(self) -> None:
        """Read no more."""
        self._selector.close()

    def cause(self, by: str) -> str:
        """The limit, too, where the kernel killed in the group, or where memory was refused under RLIMIT_DATA: a signal alone
        says nothing of memory."""
        if by != "itself" or self._child.returncode == 0:
            return by
        signals = (-signal.SIGKILL, -signal.SIGABRT, -signal.SIGSEGV)
        if self._kills or (self._child.returncode in signals and self._was_refused()):
            return "limit"
        return by

    def _was_refused(self) -> bool:
        """Whether RLIMIT_DATA held by then, and it shows: in its words, or in how near it came."""
        if self._hold.group is not None or self._hold.limit_bytes is None or not self._began:
            return False
        return self._room_bytes <= _NEAR_BYTES or _REFUSED.search(self._said[-_MOST_SAID_BYTES:]) is not None

    def words(self) -> tuple[str, str]:
        """What it was held by, and the end of what it printed."""
        if self._hold.group is not None:
            name = "a memory group"
        else:
            name = "a watcher" + (" and RLIMIT_DATA" if self._hold.limit_bytes is not None else "")
        return name, self._said[-_MOST_SAID_BYTES:].decode("utf-8", "replace")

    def _group_kills(self) -> int:
        if self._hold.group is None:
            return 0
        group = _as_group(self._hold.group)
        try:
            return group.oom_kills() or 0
        finally:
            group.close()

    def _read(self, timeout_s: float) -> bool:
        """Whether anything came."""
        came = False
        for key, _ in self._selector.select(timeout_s):
            part = os.read(key.fd, 1 << 16)
            if part:
                came = True
                key.data(part)
            else:
                self._selector.unregister(key.fd)
        if not came and not self._selector.get_map():
            time.sleep(min(timeout_s, _WATCH_S))
        return came

    def _printed(self, part: bytes) -> None:
        self._said += part
        if len(self._said) > 2 * _MOST_SAID_BYTES:
            del self._said[:-_MOST_SAID_BYTES]

    def _answered(self, part: bytes) -> None:
        self._line += part
        while (end := self._line.find(b"\n")) >= 0:
            answer = json.loads(bytes(self._line[:end]))
            del self._line[: end + 1]
            self.answers.append(answer)
            if answer.get("ungrouped"):
                self._hold = replace(self._hold, group=None)
            if "before_bytes" in answer:
                self._began = True
                self._most_bytes = self._hold.bound_bytes(answer["before_bytes"])
            if self._heard is not None:
                self._heard(answer)
