from __future__ import annotations

import os
from pathlib import Path

import pytest

from crashcart.probe.disk import read_disks

MOUNTS = """24 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
25 24 0:23 / /dev/shm rw - tmpfs tmpfs rw,size=65536k
26 24 8:1 / /data rw - ext3 /dev/old rw
27 24 8:17 / /data rw - xfs /dev/sdb1 rw
28 24 8:17 /sub /scratch\\040space rw - xfs /dev/sdb1 rw
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("proc/self", "home/user", "data/sets", "scratch space"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text(MOUNTS)
    return tmp_path


def found(root: Path, *paths: str) -> list[tuple[str, str | None]]:
    return [(disk.path, disk.kind) for disk in read_disks(paths, root)]


def test_later_mount_hides_the_earlier_one(root: Path) -> None:
    assert found(root, "/data/sets") == [("/data", "xfs")]


def test_one_entry_per_file_system_in_the_order_asked(root: Path) -> None:
    assert found(root, "/scratch space", "/home/user", "/data", "/") == [("/scratch space", "xfs"), ("/", "ext4")]


def test_neighbour_with_the_same_beginning_is_another_place(root: Path) -> None:
    (root / "data2").mkdir()
    assert found(root, "/data2") == [("/", "ext4")]


def test_shared_memory_counts_in_where_it_is(root: Path) -> None:
    (root / "dev/shm").mkdir(parents=True)
    assert found(root, "/home/user") == [("/", "ext4"), ("/dev/shm", "tmpfs")]
    assert found(root) == [("/dev/shm", "tmpfs")]


def test_path_that_is_not_there_yet(root: Path) -> None:
    assert found(root, "/data/out/run 7/model.keras") == [("/data", "xfs")]


def test_link_leads_to_its_file_system(root: Path) -> None:
    (root / "home/user/link").symlink_to(root / "data/sets")
    assert found(root, "/home/user/link") == [("/data", "xfs")]


def test_empty_path_is_no_place(root: Path) -> None:
    assert found(root, "") == []


def test_kind_is_unknown_without_a_mount_table(root: Path) -> None:
    (root / "proc/self/mountinfo").unlink()
    assert found(root, "/home/user", "/data") == [("/home/user", None)]


def test_space_is_what_an_ordinary_user_may_take(tmp_path: Path) -> None:
    disk = read_disks([str(tmp_path)])[0]
    space = os.statvfs(tmp_path)
    assert disk.total_bytes == space.f_blocks * space.f_frsize
    assert 0 < disk.free_bytes <= space.f_bfree * space.f_frsize


def test_file_systems_without_space_are_no_disks() -> None:
    assert "/proc" not in [disk.path for disk in read_disks(["/proc/self"])]
