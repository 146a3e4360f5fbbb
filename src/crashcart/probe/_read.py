"""Reading small files of /proc and /sys, below a root that tests replace by a folder.

Covers: one-off reads, files that stay open between reads, and whole tables of `name value` lines; files anywhere that might be
no files (`read_regular`), and where we are.
Does not cover: what the files mean. A file that is not there or may not be read is None, never empty.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

ROOT = Path("/")

_READ = os.O_RDONLY | os.O_CLOEXEC


def under(root: Path, path: str) -> str:
    """The absolute path as it is found below the root."""
    prefix = str(root)
    return path if prefix == "/" else prefix + path


def exists(path: Path) -> bool:
    """Whether the file can be seen; one behind a closed directory cannot."""
    try:
        path.stat()
    except OSError:
        return False
    return True


def read_bytes(root: Path, path: str, most_bytes: int = 1 << 20) -> bytes | None:
    """The file's first bytes, or None where it cannot be read."""
    try:
        file = os.open(under(root, path), _READ)
    except OSError:
        return None
    try:
        return _read_all(file, most_bytes)
    except OSError:
        return None
    finally:
        os.close(file)


def read_regular(path: str | Path, most_bytes: int) -> bytes:
    """The first bytes of a regular file; OSError for anything else: a pipe would make us wait, a device has no end."""
    file = os.open(path, _READ | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        mode = os.fstat(file).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, f"it is a {'pipe' if stat.S_ISFIFO(mode) else 'device'}, not a file")
        return _read_all(file, most_bytes)
    finally:
        os.close(file)


def working_directory() -> str | None:
    """Where we are; None where that directory was deleted or may not be seen."""
    try:
        return str(Path.cwd())
    except OSError:
        return None


def _read_all(file: int, most_bytes: int) -> bytes:
    """Read up to the bound; most files of /proc arrive whole with the first read, the long ones a page at a time."""
    parts: list[bytes] = []
    left = most_bytes
    while left > 0:
        part = os.read(file, min(left, 1 << 16))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def read_text(root: Path, path: str, most_bytes: int = 1 << 20) -> str | None:
    """The file's first characters, stripped, or None where it cannot be read."""
    raw = read_bytes(root, path, most_bytes)
    return None if raw is None else raw.decode("utf-8", "replace").strip()


def counter(table: bytes | None, name: bytes) -> int | None:
    """The value of one line of a `name value` table (memory.stat, vmstat, memory.events)."""
    if table is None:
        return None
    _, found, rest = (b"\n" + table).partition(b"\n" + name + b" ")
    return whole_number(rest.partition(b"\n")[0]) if found else None


def whole_number(raw: bytes | None) -> int | None:
    """A number as the kernel writes it, or None for anything else."""
    if raw is None:
        return None
    try:
        return int(raw)
    except ValueError:
        return None


class KeptFile:
    """A small file that stays open, so that each read costs one system call and allocates one buffer.

    With `directory`, the path is looked up below that open directory: below /proc/PID this makes sure that a pid which
    was given to another process is never read by mistake.
    """

    __slots__ = ("_directory", "_file", "_most_bytes", "_path")

    def __init__(self, path: str, most_bytes: int = 4096, directory: int | None = None) -> None:
        self._path = path
        self._most_bytes = most_bytes
        self._directory = directory
        self._file: int | None = None

    def read(self) -> bytes | None:
        """The present content, or None where there is none to be had."""
        try:
            if self._file is None:
                self._file = os.open(self._path, _READ, dir_fd=self._directory)
            return os.pread(self._file, self._most_bytes, 0)
        except OSError:
            self.close()
            return None

    def close(self) -> None:
        """Give the descriptor back; a later read opens the file again."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
