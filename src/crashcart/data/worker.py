"""The process that checks: reads chunks from a pipe, writes what it learnt to another, and may die of any file.

Covers: saying which file it is at, in memory that outlives it; a limit of memory; ending with its parent.
Does not cover: what its death means (`pool.py`). Their protocol is private to the two: a length, then a pickle.

It is started by `python -c BOOT`, not by `multiprocessing`: nothing of the user's `__main__` is imported again, so
that `cc.data` works in a script without a guard, and in a notebook.
"""

from __future__ import annotations

import contextlib
import copyreg
import ctypes
import mmap
import os
import pickle
import resource
import signal
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from crashcart.data.chunk import done_to, find_job
from crashcart.probe.file_source import LocalFile
from crashcart.sound import Checked, Source, Wanted

BOOT = "import sys; sys.path[:] = sys.argv[4:]; from crashcart.data.worker import main; main(*map(int, sys.argv[1:4]))"
"""The path comes first: a folder of data may hold a `pickle.py`."""
LENGTH = struct.Struct("=I")
PROGRESS = struct.Struct("=qqd")
"""The number of the chunk, the index of the file in it, and when it was begun. An index of -1: at no file; a number of -1:
not ready for any."""
OUT_OF_MEMORY = 87
"""The exit status where the limit of memory was met: none that a shell, a signal or Python gives."""

_PR_SET_PDEATHSIG = 1
# Often enough that little is lost with a process, seldom enough that a message costs nothing beside the files in it.
_SEND_S = 0.1
_MOST_SAID_BYTES = 1 << 16


@dataclass(frozen=True)
class Settings:
    """What a worker is told before its first chunk."""

    job: str
    wanted: Wanted
    parent: int
    memory_bytes: int | None


@dataclass(frozen=True)
class Part:
    """What a worker has learnt of a chunk since it last spoke; the last part of a chunk has its resident size."""

    chunk: int
    checked: list[Checked]
    rss_bytes: int | None = None


copyreg.pickle(LocalFile, lambda each: (LocalFile, (each.path,)))
copyreg.pickle(
    Checked,
    lambda each: (
        Checked,
        (each.path, each.bytes, each.modified_ns, each.format, each.digest, each.faults, each.facts),
    ),
)
"""Frozen dataclasses with slots look up their fields each time that they are pickled: 20 µs for a file, of 60 in all."""


def packed(message: object) -> bytes:
    """A message as it goes through the pipe."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(body)) + body


def main(inward: int, outward: int, progress: int) -> None:
    """Work until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    with os.fdopen(inward, "rb") as requests, mmap.mmap(progress, PROGRESS.size) as at:
        settings: Settings = _read(requests)
        _die_with(settings.parent)
        if settings.memory_bytes is not None:
            _hold_to(settings.memory_bytes)
        worker = _Worker(settings, outward, at)
        PROGRESS.pack_into(at, 0, 0, -1, time.monotonic())
        while (request := _read(requests)) is not None:
            worker.do(*request)


def _read(requests: BinaryIO) -> Any:
    head = requests.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    return pickle.loads(requests.read(LENGTH.unpack(head)[0]))


def _die_with(parent: int) -> None:
    """A parent that is killed leaves nobody behind, not even one that hangs in a decoder."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _hold_to(memory_bytes: int) -> None:
    """What is asked for beyond is refused. Files that are mapped do not count."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    soft = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


class _Worker:
    def __init__(self, settings: Settings, outward: int, at: mmap.mmap) -> None:
        self._job = find_job(settings.job)
        self._wanted = settings.wanted
        self._outward = outward
        self._at = at

    def send(self, message: object) -> None:
        data = memoryview(packed(message))
        while data:
            data = data[os.write(self._outward, data) :]

    def do(self, number: int, sources: Sequence[Source]) -> None:
        """Check a chunk; tell what was learnt every now and then, and at its end."""
        done: list[Checked] = []
        sent_s = time.monotonic()
        for index, source in enumerate(sources):
            now_s = time.monotonic()
            if now_s - sent_s > _SEND_S:
                self.send(Part(number, done))
                done, sent_s = [], now_s
            PROGRESS.pack_into(self._at, 0, number, index, now_s)
            try:
                done.append(done_to(self._job, source, self._wanted))
            except MemoryError:
                os._exit(OUT_OF_MEMORY)
        PROGRESS.pack_into(self._at, 0, number, -1, time.monotonic())
        self.send(Part(number, done, _resident_bytes()))
        _forget_what_was_said()


def _resident_bytes() -> int:
    with open("/proc/self/statm", "rb", buffering=0) as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def _forget_what_was_said() -> None:
    """Decoders complain on stderr, which is a file in memory; it must not grow with the data."""
    with contextlib.suppress(OSError):
        if os.fstat(2).st_size > _MOST_SAID_BYTES:
            os.ftruncate(2, 0)
