"""Places in which the airbag cannot be, is full, or loses its file; and processes that it must leave alone."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from airbag_rig import GIB, MIB, PROGRAMS, Guard, Rig, compile_into, run

SOUND = (0, "", "")
"""Each check that the program makes of itself held; it ends at the first that does not, and says which."""


def asked(rig: Rig, guard: Guard, what: str) -> tuple[int, str, str]:
    """The exit code of the program, and what it printed."""
    done = run([rig.program("places"), what], guard.environment(rig.library))
    return done.returncode, done.stdout, done.stderr


def test_a_missing_directory(rig: Rig, tmp_path: Path) -> None:
    guard = Guard(tmp_path / "recording", tmp_path / "nowhere")
    assert asked(rig, guard, "refused") == (0, f"level 11 errno {errno.ENOENT}\n", "")


def test_no_directory_is_no_airbag(rig: Rig, tmp_path: Path) -> None:
    assert asked(rig, Guard(tmp_path / "recording", ""), "refused") == (0, "level 3 errno 0\n", "")


def test_a_directory_that_cannot_be_written(rig: Rig, tmp_path: Path) -> None:
    guard = Guard(tmp_path / "recording", "/proc/self")
    code, words, complaints = asked(rig, guard, "refused")
    assert (code, complaints) == (0, "")
    level, error = words.split()[1::2]
    assert (level, int(error) > 0) == ("11", True)


def test_a_file_system_that_is_memory(rig: Rig, tmp_path: Path) -> None:
    place = Path("/dev/shm")
    if not os.access(place, os.W_OK) or shutil.disk_usage(place).total == 0:
        pytest.skip("no tmpfs at /dev/shm here")
    guard = Guard(tmp_path / "recording", place)
    assert asked(rig, guard, "refused") == (0, f"level 11 errno {errno.EOPNOTSUPP}\n", "")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 40 MiB in a file."""
    image, place = tmp_path / "image", tmp_path / "disk"
    maker, mount = shutil.which("mkfs.ext4"), shutil.which("mount")
    if os.geteuid() != 0 or maker is None or mount is None:
        pytest.skip("a small disk needs root, mkfs.ext4 and mount")
    with image.open("wb") as file:
        file.truncate(40 * MIB)
    place.mkdir()
    subprocess.run([maker, "-q", "-F", image], check=True, capture_output=True)
    done = subprocess.run([mount, "-o", "loop", image, place], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no loop mount here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk_is_a_refusal_and_no_signal(rig: Rig, tmp_path: Path, small_disk: Path) -> None:
    assert asked(rig, Guard(tmp_path / "recording", small_disk, bound=4 * GIB), "full") == SOUND


def test_a_full_bound_is_a_refusal(rig: Rig, tmp_path: Path) -> None:
    assert asked(rig, Guard(tmp_path / "recording", tmp_path, bound=50 * MIB), "full") == SOUND


def test_the_floor_of_free_space_is_kept(rig: Rig, tmp_path: Path) -> None:
    guard = Guard(tmp_path / "recording", tmp_path, floor=1 << 60)
    assert asked(rig, guard, "refused") == (0, "level 3 errno 0\n", "")


def test_closed_descriptors(rig: Rig, guard: Guard, tmp_path: Path) -> None:
    done = run([rig.program("descriptors"), tmp_path / "own"], guard.environment(rig.library))
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "own").read_bytes() == b"x" * 4096


def test_no_descriptor_left(rig: Rig, guard: Guard) -> None:
    assert asked(rig, guard, "no-descriptors") == SOUND


def test_children_without_fork_handlers(rig: Rig, guard: Guard) -> None:
    assert asked(rig, guard, "vfork") == SOUND


def test_threads_in_the_airbag_at_exit(rig: Rig, guard: Guard) -> None:
    for _ in range(5):
        assert asked(rig, guard, "exit") == SOUND


def test_a_process_that_is_not_python_is_left_alone(rig: Rig, guard: Guard) -> None:
    program = compile_into(rig.build / "not-python", [PROGRAMS / "plain.c"], ["-O1", "-fno-builtin"])
    done = run([program], guard.environment(rig.library))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("damage", ["no file", "short", "magic", "version"])
def test_without_a_sound_file_everything_passes(rig: Rig, guard: Guard, damage: str) -> None:
    path = guard.folder / "guard"
    content = bytearray(path.read_bytes())
    path.unlink()
    content[0 if damage == "magic" else 8] += damage in ("magic", "version")
    if damage != "no file":
        path.write_bytes(content[: 8192 if damage == "short" else None])
    done = run(["/bin/ls", "/"], guard.environment(rig.library))
    assert done.returncode == 0
    done = run(["/usr/bin/env", "python3", "-c", "print(len(bytes(10**7)))"], guard.environment(rig.library))
    assert (done.returncode, done.stdout) == (0, "10000000\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_the_file_of_another_user_is_not_ours(rig: Rig, guard: Guard) -> None:
    os.chown(guard.folder / "guard", 65534, 65534)
    assert asked(rig, guard, "inert") == SOUND


def test_another_malloc_library_behind_us(rig: Rig, guard: Guard) -> None:
    for part in ("within", "border", "airbag", "refusal", "realloc", "squeeze", "threads"):
        done = run([rig.program("entries"), part], guard.environment(rig.library, rig.interposer()))
        assert (done.returncode, done.stderr) == (0, ""), part
