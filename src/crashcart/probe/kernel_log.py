"""What the kernel says: kills for lack of memory, segmentation faults, traps.

Covers: /dev/kmsg, followed during a run or read back afterwards, and the reason where it may not be read.
Does not cover: logs that a service keeps on disk (journal, kern.log), and what the messages mean.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from crashcart.probe._read import ROOT, read_text, under

_KMSG = "/dev/kmsg"
_KMSG_DEVICE = os.makedev(1, 11)

# One read of /dev/kmsg yields one record and fails where the record is longer; the kernel's bound is 2048 + prefix.
_RECORD_BYTES = 8192


class KernelLogReader:
    """Follows the kernel log from the moment it is made. `unreadable` says in words why it cannot."""

    def __init__(self, root: Path = ROOT) -> None:
        self.unreadable: str | None = None
        self._rest = b""
        self._file: int | None = None
        try:
            self._file = _open(root)
            os.lseek(self._file, 0, os.SEEK_END)
        except OSError as error:
            self.unreadable = _reason(error, root)
            self.close()

    def read_new(self) -> tuple[str, ...]:
        """The messages since the last call, without their prefixes."""
        if self._file is None:
            return ()
        raw = self._rest + _drain(self._file)
        whole, newline, self._rest = raw.rpartition(b"\n")
        return tuple(message for _, message in _messages(whole + newline))

    def close(self) -> None:
        """Give the descriptor back; afterwards there is nothing new."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def find_lines(since_boot_s: float | None = None, root: Path = ROOT) -> tuple[str, ...] | None:
    """All messages that the kernel still holds, or those since a moment; None where they may not be read.

    The moment counts as the kernel stamps its messages: seconds since boot without suspended time, like
    `time.monotonic()`, from which it may drift by a second in some days.
    """
    try:
        file = _open(root)
    except OSError:
        return None
    try:
        os.lseek(file, 0, os.SEEK_SET)
        raw = _drain(file)
    except OSError:
        return None
    finally:
        os.close(file)
    return tuple(message for at_s, message in _messages(raw) if since_boot_s is None or at_s >= since_boot_s)


def _open(root: Path) -> int:
    """Open the log, or a recording of it; some containers put a console in its place, which is nobody's to read."""
    file = os.open(under(root, _KMSG), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    about = os.fstat(file)
    if stat.S_ISREG(about.st_mode) or about.st_rdev == _KMSG_DEVICE:
        return file
    os.close(file)
    raise OSError(errno.ENODEV, "another device is in its place")


def _drain(file: int) -> bytes:
    """Read what is there; a recorded log in a regular file ends, the device says that it would block."""
    records: list[bytes] = []
    while True:
        try:
            record = os.read(file, _RECORD_BYTES)
        except BlockingIOError:
            break
        except OSError as error:
            if error.errno == errno.EPIPE:
                continue  # Records were overwritten before we came; the next read goes on with the oldest one left.
            break
        if not record:
            break
        records.append(record)
    return b"".join(records)


def _messages(raw: bytes) -> list[tuple[float, str]]:
    """Time and text of each record `priority,sequence,time_us,flags[,more];text`; lines that start blank are tags."""
    messages: list[tuple[float, str]] = []
    for line in raw.decode("utf-8", "replace").split("\n"):
        prefix, semicolon, text = line.partition(";")
        fields = prefix.split(",")
        if semicolon and len(fields) >= 4 and fields[2].isdigit():
            messages.append((int(fields[2]) / 1e6, text))
    return messages


def _reason(error: OSError, root: Path) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{_KMSG} does not exist here (most containers do not have it)"
    if isinstance(error, PermissionError):
        if read_text(root, "/proc/sys/kernel/dmesg_restrict") == "1":
            return f"no permission to read {_KMSG}: kernel.dmesg_restrict is 1, so only root may (or CAP_SYSLOG)"
        return f"no permission to read {_KMSG}"
    return f"{_KMSG} cannot be read: {error.strerror or error}"
