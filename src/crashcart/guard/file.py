"""The file that the guard and the guarded processes share: where it lies, and that it goes away.

Covers: making it in memory, so that no slow or stalled disk stalls an allocation and no clean-up of recordings removes it;
beside the recording where there is no room in memory; removing it at the end, and those of watchers that were killed.
Does not cover: what is in it (`shared.py`).

The recording holds the file itself, or a link to it. A watcher that lives holds a lock on its file, which says more than
a process number would: it is right in another container that shares the folder, too.
"""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

FILE_NAME = "guard"
MEMORY = Path("/dev/shm")
PREFIX = "crashcart-guard-"
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class GuardFile:
    """The file, open, and the name under which the processes of the run find it."""

    handle: int
    path: Path
    link: Path
    """In the recording; the same as `path` where the file lies there itself."""

    def remove(self) -> None:
        """Processes that live on keep their own mapping."""
        for path in {self.path, self.link}:
            with suppress(OSError):
                path.unlink()
        os.close(self.handle)


def make(folder: Path, size_bytes: int, memory: Path = MEMORY) -> GuardFile:
    """A file of zeroes with its space set aside. OSError where neither memory nor the recording's folder can hold it."""
    link = folder / FILE_NAME
    with suppress(OSError):
        remove_left(memory)
        return _in_memory(link, size_bytes, memory)
    return GuardFile(_create(link, size_bytes), link, link)


def remove_left(memory: Path = MEMORY) -> None:
    """Remove the files of this user's watchers that were killed: nobody holds their lock."""
    with os.scandir(memory) as entries:
        paths = [Path(entry.path) for entry in entries if entry.name.startswith(PREFIX)]
    for path in paths:
        with suppress(OSError):
            _remove_if_left(path)


def _remove_if_left(path: Path) -> None:
    handle = os.open(path, _OLD)
    try:
        status = os.fstat(handle)
        if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
    finally:
        os.close(handle)


def _in_memory(link: Path, size_bytes: int, memory: Path) -> GuardFile:
    path = memory / f"{PREFIX}{os.urandom(8).hex()}"
    handle = _create(path, size_bytes)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        link.symlink_to(path)
        if os.fstat(handle).st_nlink == 0:  # another watcher that started took it for one that was left
            link.unlink()
            raise FileNotFoundError(path)
    except OSError:
        with suppress(OSError):
            path.unlink()
        os.close(handle)
        raise
    return GuardFile(handle, path, link)


def _create(path: Path, size_bytes: int) -> int:
    handle = os.open(path, _NEW, 0o600)
    try:
        os.posix_fallocate(handle, 0, size_bytes)
    except OSError:
        path.unlink()
        os.close(handle)
        raise
    return handle
