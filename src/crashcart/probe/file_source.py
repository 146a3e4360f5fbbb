"""Files of this machine as sources of the checks, and what can be said of one before it is opened.

Covers: regular files, links that lead nowhere or in a circle, sockets, pipes and devices (never opened), permissions.
Does not cover: files elsewhere (their sources come from `data/`), or what a file holds (`file_check.py`).
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from crashcart.sound import Fault, Source

_KINDS = {
    stat.S_IFSOCK: "a socket",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFDIR: "a folder",
}


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file of this machine."""

    path: str

    @property
    def local(self) -> str:
        """The path itself."""
        return self.path

    def size(self) -> int | None:
        """Its size, or None where it cannot be asked."""
        try:
            return Path(self.path).stat().st_size
        except OSError:
            return None

    def open(self) -> BinaryIO:
        """Opened without a buffer: the checks read in blocks of their own."""
        return open(self.path, "rb", buffering=0)  # noqa: PTH123 (as above)


@dataclass(frozen=True, slots=True)
class Standing:
    """What the file system says of a file."""

    bytes: int | None = None
    modified_ns: int | None = None
    fault: Fault | None = None
    """Why it cannot be opened, where it cannot."""


def standing(source: Source) -> Standing:
    """Ask the file system, following links; nothing is opened."""
    if source.local is None:
        return Standing(source.size())
    try:
        found = os.stat(source.local)  # noqa: PTH116 (a Path costs more than the question; this runs once per file)
    except (OSError, ValueError) as error:
        return Standing(fault=_not_there(source.local, error))
    if not stat.S_ISREG(found.st_mode):
        what = _KINDS.get(stat.S_IFMT(found.st_mode), "not a regular file")
        return Standing(None, found.st_mtime_ns, Fault("not-a-file", f"{what}; it was not opened"))
    return Standing(found.st_size, found.st_mtime_ns)


def _not_there(path: str, error: OSError | ValueError) -> Fault:
    if not isinstance(error, OSError):
        return Fault("unreadable", f"the name cannot be used: {error}")
    if error.errno == errno.ELOOP:
        return Fault("link-loop", "a circle of links: no file is at its end")
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        if Path(path).is_symlink():
            return Fault("dangling-link", f"links to {str(Path(path).readlink())!r}, which is not there")
        return Fault("missing", "no file by this name")
    return unreadable(error)


class BrokenError(OSError):
    """What a file holds broke while it was read: a member of an archive, a compressed stream."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.fault = Fault(kind, detail)


def unreadable(error: OSError) -> Fault:
    """The system's own words for a file that it does not let us read."""
    if isinstance(error, BrokenError):
        return error.fault
    if isinstance(error, FileNotFoundError):
        return Fault("missing", "no file by this name")
    if error.errno is None:
        return Fault("unreadable", " ".join(str(error).split())[:200] or type(error).__name__)
    return Fault("unreadable", f"{error.strerror or error} (errno {error.errno})")
