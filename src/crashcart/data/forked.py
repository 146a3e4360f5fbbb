"""A checking process as a copy of this one: it begins in milliseconds, with everything imported.

Covers: when that is safe (one thread alone, in a process that is ours), what a copy must leave behind (files, pipes, signals, its
terminal), and waiting for it as `subprocess.Popen` does.
Does not cover: processes of users, which may hold anything (`process.py` begins a fresh interpreter there), or the work itself
(`worker.py`).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from typing import NoReturn

from crashcart.data.worker import main

_RESET = (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGUSR1, signal.SIGUSR2)
_MOST_HANDLES = 1 << 16


def is_alone() -> bool:
    """Whether this process has one thread: a lock that another one holds would be held for ever in a copy."""
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


class Forked:
    """A copy of this process that checks."""

    def __init__(self, handed: Sequence[int], said: int, environment: Mapping[str, str]) -> None:
        self.returncode: int | None = None
        self.pid = os.fork()
        if not self.pid:
            _check(handed, said, environment)

    def poll(self) -> int | None:
        """Its exit status, where it has ended."""
        return self._ended(os.WNOHANG)

    def wait(self) -> int:
        """Its exit status, negative for a signal."""
        code = self._ended(0)
        assert code is not None
        return code

    def _ended(self, how: int) -> int | None:
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, how)
            except ChildProcessError:  # somebody else has waited for it
                self.returncode = 0
                return 0
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def _check(handed: Sequence[int], said: int, environment: Mapping[str, str]) -> NoReturn:
    """What the copy does, and nothing after it: nothing of the original is closed, flushed or freed."""
    code = 1
    try:
        os.setsid()
        for number in _RESET:
            signal.signal(number, signal.SIG_DFL)
        _leave(handed, said)
        os.environ.update(environment)
        main(*handed)
        code = 0
    except BaseException:
        import traceback

        os.write(2, traceback.format_exc().encode("utf-8", "replace"))
    finally:
        os._exit(code)


def _leave(handed: Sequence[int], said: int) -> None:
    """No handle of the original stays open: a pipe that is held by two does not end with one."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.dup2(said, 2)
    first = 3
    for handle in sorted(handed):
        os.closerange(first, handle)
        first = handle + 1
    os.closerange(first, _MOST_HANDLES)
