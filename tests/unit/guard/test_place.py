"""Where the airbag may lie: a real disk with room, or a reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from crashcart.guard import place
from crashcart.guard.place import find_place
from crashcart.units import GIB

SHM = Path("/dev/shm")


def on_disk(path: Path) -> bool:
    return os.statvfs(path).f_bavail > 0 and not find_place(path, GIB, str(path)).reason


def test_a_directory_that_is_asked_for_is_the_only_one_tried(tmp_path: Path) -> None:
    found = find_place(tmp_path, GIB, str(tmp_path / "missing"))
    assert (found.directory, found.reason) == ("", f"{tmp_path / 'missing'} is not a directory")


def test_off_is_off(tmp_path: Path) -> None:
    assert find_place(tmp_path, GIB, "off").reason == "switched off"


@pytest.mark.skipif(not SHM.is_dir() or not os.access(SHM, os.W_OK), reason="no shared memory to try")
def test_memory_is_not_a_disk(tmp_path: Path) -> None:
    assert find_place(tmp_path, GIB, "/dev/shm").reason == "/dev/shm is memory itself (tmpfs)"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    assert find_place(tmp_path, GIB, str(closed)).reason == f"{closed} cannot be written"


def test_the_bound_is_what_one_may_need_and_at_most_half_of_what_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not on_disk(tmp_path):
        pytest.skip("the temporary directory is not on a disk with room")
    found = find_place(tmp_path, GIB, str(tmp_path))
    free_bytes = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize
    assert found.directory == str(tmp_path.resolve())
    assert found.bound_bytes == min(16 * GIB, free_bytes // 2) or found.bound_bytes < 16 * GIB
    assert found.floor_bytes >= place.FLOOR_BYTES
    free_bytes = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize
    assert find_place(tmp_path, 10**15, str(tmp_path)).bound_bytes <= free_bytes // 2


def test_a_disk_without_room_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not on_disk(tmp_path):
        pytest.skip("the temporary directory is not on a disk with room")
    monkeypatch.setattr(place, "FLOOR_BYTES", 10**18)
    assert "free" in find_place(tmp_path, GIB, str(tmp_path)).reason


def test_several_reasons_are_all_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(place, "FLOOR_BYTES", 10**18)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "gone"))
    assert "is not a directory; " in find_place(tmp_path, GIB).reason
