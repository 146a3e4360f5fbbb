"""Where a cache goes that is too large for memory.

Covers: a folder on a real disk with room for it, which is deleted with the dataset, at the end of the program, or,
after a kill, by the next program that asks for one. Does not cover: whether a cache is too large (`bounded_plan`).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

from crashcart.probe.disk import read_disks

MEMORY_KINDS = frozenset({"tmpfs", "ramfs", "hugetlbfs", "devtmpfs"})
FREE_BYTES = 1 << 30
"""Left free on the disk, whatever the cache takes."""
_NAME, _FRESH, _LOCK = "crashcart-cache-", "crashcart-new-", "lock"
_HELD: dict[Path, int] = {}
"""Folders of this program, with the locked file of each."""


def folder_for(cache_bytes: int | None) -> Path | None:
    """A new folder on a disk that has room; None where there is none. For an unknown size, a disk that is not full will do."""
    for place in dict.fromkeys((tempfile.gettempdir(), "/var/tmp")):
        disk = next(iter(read_disks([place])), None)
        if disk is None or disk.kind in MEMORY_KINDS or not os.access(place, os.W_OK | os.X_OK):
            continue
        if disk.free_bytes - FREE_BYTES >= (cache_bytes or 0):
            _sweep(Path(place))
            return _made(Path(place))
    return None


def delete_with(owner: object, folder: Path) -> None:
    """Delete the folder when the owner goes, or when the program ends."""
    weakref.finalize(owner, _delete, folder, os.getpid())


def _delete(folder: Path, owner: int) -> None:
    """A forked child has a copy of the dataset, and the folder is not its own."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
        held = _HELD.pop(folder, None)
        if held is not None:
            os.close(held)


def _made(place: Path) -> Path:
    """A new folder whose file is locked as long as this program, or a child that it forked, lives. It has the name that others
    sweep only once it is locked."""
    fresh = Path(tempfile.mkdtemp(prefix=_FRESH, dir=place))
    held = os.open(fresh / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with suppress(OSError):  # a disk without locks: nobody can lock the file then, and nobody sweeps the folder
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    folder = fresh.rename(place / f"{_NAME}{fresh.name.removeprefix(_FRESH)}")
    _HELD[folder] = held
    return folder


def _sweep(place: Path) -> None:
    """Delete what programs left that are gone: a kill leaves nobody to do it. A process number would not tell, as programs in
    other containers may have the same folder; the kernel gives up a lock when its program ends, wherever that ran."""
    for folder in place.glob(f"{_NAME}*"):
        with suppress(OSError):
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(lock)
