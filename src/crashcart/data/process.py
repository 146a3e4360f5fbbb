"""One checking process as its parent sees it: the pipes, what it is at, how it ended.

Covers: starting it, messages in both directions without ever blocking, its place in the work, the end of what it said.
Does not cover: which work it gets (`pool.py`), or what it does (`worker.py`).
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from crashcart.data.forked import Forked, is_alone
from crashcart.data.worker import BOOT, LENGTH, PROGRESS, Settings, packed

_BLOCK_BYTES = 1 << 20
_MOST_MESSAGE_BYTES = 1 << 30
_MOST_SAID_BYTES = 2000
# One thread for each: the processes are as many as the cores. Arenas of memory that threads keep are not needed either.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}


class GarbledError(Exception):
    """What came out of the process is no message: its memory is damaged."""


class Process:
    """A process that checks."""

    def __init__(self, settings: Settings, may_fork: bool = False) -> None:
        their_in, self._out = os.pipe()
        self.inward, their_out = os.pipe()
        self._progress = os.memfd_create("crashcart-progress")
        self._said = os.memfd_create("crashcart-said")
        fcntl.fcntl(self._said, fcntl.F_SETFL, os.O_APPEND)  # it is cut now and then by the one that writes
        os.ftruncate(self._progress, PROGRESS.size)
        self._at = mmap.mmap(self._progress, PROGRESS.size)
        PROGRESS.pack_into(self._at, 0, -1, -1, 0.0)
        handed = (their_in, their_out, self._progress)
        try:
            self._child = self._begun(handed, may_fork)
        finally:
            os.close(their_in)
            os.close(their_out)
        os.set_blocking(self._out, False)
        os.set_blocking(self.inward, False)
        self._sending = bytearray()
        self._receiving = bytearray()
        self.send(settings)

    def _begun(self, handed: tuple[int, int, int], may_fork: bool) -> Forked | subprocess.Popen[bytes]:
        """A copy of this process where that is safe, else a fresh interpreter."""
        if may_fork and is_alone():
            return Forked(handed, self._said, _ENVIRONMENT)
        return subprocess.Popen(
            [sys.executable, "-c", BOOT, *map(str, handed), *sys.path],
            pass_fds=handed, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._said,
            env={**os.environ, **_ENVIRONMENT}, start_new_session=True,
        )  # fmt: skip

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._child.pid

    @property
    def outward(self) -> int | None:
        """The pipe to it, while something waits to be written."""
        return self._out if self._sending else None

    @property
    def at(self) -> tuple[int, int, float]:
        """The chunk and the index of the file that it is at, and since when; an index of -1 is none, a chunk of -1
        that it is not ready yet."""
        chunk, index, since_s = PROGRESS.unpack_from(self._at)
        return chunk, index, since_s

    def send(self, message: object) -> None:
        """Give it a message; what the pipe does not take waits."""
        self._sending += packed(message)
        self.flush()

    def flush(self) -> None:
        """Write what the pipe takes. One that has ended takes nothing; that is seen when it is read."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            while self._sending:
                del self._sending[: os.write(self._out, self._sending)]
            return
        if self._child.poll() is not None:
            self._sending.clear()

    def receive(self) -> tuple[list[Any], bool]:
        """The messages that have come whole, and whether it has ended."""
        ended = False
        with contextlib.suppress(BlockingIOError):
            while block := os.read(self.inward, _BLOCK_BYTES):
                self._receiving += block
            ended = True
        return list(self._messages()), ended

    def _messages(self) -> Iterator[Any]:
        while len(self._receiving) >= LENGTH.size:
            length = LENGTH.unpack_from(self._receiving)[0]
            if length > _MOST_MESSAGE_BYTES:
                raise GarbledError
            end = LENGTH.size + length
            if len(self._receiving) < end:
                return
            body = bytes(self._receiving[LENGTH.size : end])
            del self._receiving[:end]
            try:
                yield pickle.loads(body)
            except Exception as error:
                raise GarbledError from error

    def finish(self) -> None:
        """Let it end by itself: nothing more will come."""
        with contextlib.suppress(OSError):
            os.close(self._out)
        self._out = -1

    def kill(self) -> None:
        """End it, and whatever it started: its session is its own."""
        if self._child.poll() is None:
            try:
                os.killpg(self._child.pid, signal.SIGKILL)
            except ProcessLookupError:  # a copy that has not got as far as to have a session
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._child.pid, signal.SIGKILL)

    def ended(self) -> int:
        """Wait for its end, which has been seen or caused: its exit status, negative for a signal."""
        return self._child.wait()

    def said(self) -> str:
        """The end of what it said on stderr."""
        count = os.fstat(self._said).st_size
        return os.pread(self._said, _MOST_SAID_BYTES, max(0, count - _MOST_SAID_BYTES)).decode("utf-8", "replace")

    def close(self) -> None:
        """Give back what belongs to it, after its end."""
        self._at.close()
        for handle in (self._out, self.inward, self._progress, self._said):
            with contextlib.suppress(OSError):
                os.close(handle)
