from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from crashcart.probe.kernel_log import KernelLogReader, find_lines

Find = Callable[[str], Path]


@pytest.fixture
def root(machine: Find, tmp_path: Path) -> Path:
    return shutil.copytree(machine("v1-flat"), tmp_path / "machine")


def append(root: Path, text: str) -> None:
    with (root / "dev/kmsg").open("a") as log:
        log.write(text)


def test_only_what_is_new(root: Path) -> None:
    reader = KernelLogReader(root)
    assert reader.unreadable is None
    assert reader.read_new() == ()
    append(root, "3,1344,1600000000,-;python[8258]: segfault at 60 ip 00007fdc877054de\n SUBSYSTEM=x\n")
    assert reader.read_new() == ("python[8258]: segfault at 60 ip 00007fdc877054de",)
    assert reader.read_new() == ()
    reader.close()
    append(root, "3,1345,1600000000,-;later\n")
    assert reader.read_new() == ()


def test_record_that_is_half_written_comes_when_it_is_whole(root: Path) -> None:
    reader = KernelLogReader(root)
    append(root, "3,1344,1600000000,-;first\n3,1345,16000")
    assert reader.read_new() == ("first",)
    append(root, "00001,-;second\n")
    assert reader.read_new() == ("second",)
    reader.close()


def test_all_messages_and_those_since(machine: Find) -> None:
    every = find_lines(None, machine("v1-flat"))
    assert every is not None
    assert len(every) == 5
    assert every[0] == "Linux version 5.15.0-91-generic"
    assert every[2] == "memory: usage 2097152kB, limit 2097152kB, failcnt 87"
    assert every[-1] == "usb 1-1: new device; number 5", "only the first semicolon ends the prefix; tags are dropped"
    assert find_lines(1512.0003, machine("v1-flat")) == every[3:]


def test_no_kernel_log(machine: Find) -> None:
    reader = KernelLogReader(machine("no-cgroup"))
    assert reader.unreadable is not None and "does not exist" in reader.unreadable
    assert reader.read_new() == ()
    assert find_lines(None, machine("no-cgroup")) is None


def test_console_in_its_place_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kmsg").symlink_to("/dev/null")
    before = len(os.listdir("/proc/self/fd"))
    assert KernelLogReader(tmp_path).unreadable == "/dev/kmsg cannot be read: another device is in its place"
    assert find_lines(None, tmp_path) is None
    assert len(os.listdir("/proc/self/fd")) == before


def refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse the log as the kernel does to users; tests may run as root, whom no file mode stops."""
    allow = os.open

    def guarded(path: str, flags: int) -> int:
        if path.endswith("/dev/kmsg"):
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), path)
        return allow(path, flags)

    monkeypatch.setattr(os, "open", guarded)


def test_restricted_log_says_by_which_setting(machine: Find, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch)
    reader = KernelLogReader(machine("dmesg-restricted"))
    assert reader.unreadable is not None and "kernel.dmesg_restrict is 1" in reader.unreadable
    assert reader.read_new() == ()
    assert find_lines(None, machine("dmesg-restricted")) is None


def test_refused_log_without_that_setting_does_not_blame_it(machine: Find, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch)
    reader = KernelLogReader(machine("v1-flat"))
    assert reader.unreadable == "no permission to read /dev/kmsg"


def test_overrun_goes_on_with_the_oldest_record_left(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = KernelLogReader(root)
    answers: list[bytes | OSError] = [
        b"6,1,1,-;before\n",
        BrokenPipeError(errno.EPIPE, "overwritten"),
        b"6,9,9,-;after\n",
        BlockingIOError(errno.EAGAIN, "nothing left"),
    ]

    def answer(file: int, size: int) -> bytes:
        found = answers.pop(0)
        if isinstance(found, OSError):
            raise found
        return found

    with monkeypatch.context() as patch:
        patch.setattr(os, "read", answer)
        assert reader.read_new() == ("before", "after")
    reader.close()


def test_descriptor_is_given_back(root: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    reader = KernelLogReader(root)
    find_lines(None, root)
    assert len(os.listdir("/proc/self/fd")) == before + 1
    reader.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_this_machine_is_readable_or_says_why() -> None:
    reader = KernelLogReader()
    assert (reader.unreadable is None) == (find_lines() is not None)
    assert isinstance(reader.read_new(), tuple)
    reader.close()
