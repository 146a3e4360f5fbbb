"""Memory groups for benches and tests: a real limit for a real OOM kill, without danger to the machine.

Covers: cgroup v1 and v2 groups made where this process may. Does not cover: anything that needs no limit.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_V1 = Path("/sys/fs/cgroup/memory")
_V2 = Path("/sys/fs/cgroup")


def unavailable() -> str | None:
    """Why no memory group can be made here; None where it can."""
    if os.access(_V1 / "cgroup.procs", os.W_OK):
        return None
    controllers = _V2 / "cgroup.subtree_control"
    if (
        controllers.exists()
        and "memory" in controllers.read_text().split()
        and os.access(_V2 / "cgroup.procs", os.W_OK)
    ):
        return None
    return "no memory group can be made here (needs root and a writable memory cgroup)"


@contextmanager
def memory_group(limit_mb: int | None) -> Iterator[Path | None]:
    """A group with that limit, emptied and removed afterwards; None without a limit."""
    if limit_mb is None:
        yield None
        return
    first_version = (_V1 / "cgroup.procs").exists()
    group = (_V1 if first_version else _V2) / f"crashcart-{os.getpid()}-{time.monotonic_ns()}"
    group.mkdir()
    try:
        name = "memory.limit_in_bytes" if first_version else "memory.max"
        (group / name).write_text(str(limit_mb * 1024**2))
        yield group
    finally:
        _remove(group)


def enter(group: Path | None) -> None:
    """Move the calling process into the group."""
    if group is not None:
        (group / "cgroup.procs").write_text(str(os.getpid()))


def oom_kills(group: Path) -> int:
    """How many processes of the group the kernel has killed for memory."""
    first_version = group / "memory.oom_control"
    text = (first_version if first_version.exists() else group / "memory.events").read_text()
    return int(dict(line.split() for line in text.splitlines())["oom_kill"])


def _remove(group: Path) -> None:
    for _ in range(100):
        for pid in (group / "cgroup.procs").read_text().split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                continue
        try:
            group.rmdir()
            return
        except OSError:
            time.sleep(0.05)
