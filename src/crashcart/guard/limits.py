"""The fallback without the airbag: a limit on the data of a running process that moves along with its budget.

Covers: setting and restoring RLIMIT_DATA of another process, so that a large request beyond what is left fails as a
MemoryError in NumPy and Python.
Does not cover: processes whose native threads end the program when memory is refused (TensorFlow, PyTorch, JAX): those get
the exception in the main thread alone.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from crashcart.units import MIB

_DATA = re.compile(rb"^VmData:\s+(\d+) kB", re.MULTILINE)
_ABORTING = re.compile(rb"libtensorflow|_pywrap_tensorflow|libtorch|xla_extension|libjax")
SLACK_BYTES = 64 * MIB
"""Small objects must not fail for the limit: it is for one large request; growth gets the exception."""
NEAR_SHARE = 0.1
"""Only where less than this share of the limit is left; before, the process has the limits it came with."""


class DataLimit:
    """RLIMIT_DATA of one process while memory is short."""

    def __init__(self, pid: int, root: Path = Path("/proc")) -> None:
        self.pid = pid
        self._folder = root / str(pid)
        self._before: tuple[int, int] | None = None

    def follow(self, left_bytes: int, limit_bytes: int) -> bool:
        """Have requests beyond what is left fail, if little is left; whether the limit is in force now."""
        try:
            if left_bytes > NEAR_SHARE * limit_bytes or self._has_children() or aborts_without_memory(self._folder):
                self.restore()
                return False
            return self._set(max(SLACK_BYTES, left_bytes))
        except (OSError, ValueError):
            return False

    def _has_children(self) -> bool:
        """A child would inherit the limit and keep it. The guard's own watcher is one, and has its own session."""
        children = (self._folder / "task" / str(self.pid) / "children").read_text().split()
        return any(int(child) != os.getpid() for child in children)

    def _set(self, left_bytes: int) -> bool:
        import resource

        data = _DATA.search((self._folder / "status").read_bytes())
        if data is None:
            return False
        if self._before is None:
            self._before = resource.prlimit(self.pid, resource.RLIMIT_DATA)
        soft, hard = self._before
        wanted = int(data.group(1)) * 1024 + left_bytes
        bounds = [each for each in (wanted, soft, hard) if each != resource.RLIM_INFINITY]
        resource.prlimit(self.pid, resource.RLIMIT_DATA, (min(bounds), hard))
        return True

    def restore(self) -> None:
        """Give the process back the limit it came with."""
        before, self._before = self._before, None
        if before is not None:
            import resource

            with suppress(OSError):
                resource.prlimit(self.pid, resource.RLIMIT_DATA, before)


def aborts_without_memory(folder: Path) -> bool:
    """Whether the process has a framework loaded whose threads end the program when a request is refused."""
    return _ABORTING.search((folder / "maps").read_bytes()) is not None
