"""Folders for caches on disk: whose they are, and who may delete them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from crashcart.pipeline import bounded_cache
from tests.conftest import ROOT

_HOLDS = """
import sys, tempfile
from pathlib import Path
from crashcart.pipeline import bounded_cache
folder = bounded_cache._made(Path(sys.argv[1]))
(folder / "elements_0.data").write_bytes(b"x")
print(folder, flush=True)
sys.stdin.readline()
"""


class Owner:
    """Stands for a dataset."""


@pytest.fixture
def other(tmp_path: Path) -> subprocess.Popen[str]:
    """Another program that has a cache in the same place."""
    return subprocess.Popen(
        [sys.executable, "-c", _HOLDS, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def ended(program: subprocess.Popen[str]) -> None:
    program.kill()
    program.communicate(timeout=60)


def named(program: subprocess.Popen[str]) -> Path:
    assert program.stdout is not None
    return Path(program.stdout.readline().strip())


def test_the_cache_of_a_program_that_lives_is_not_swept_though_its_process_cannot_be_seen(
    other: subprocess.Popen[str], tmp_path: Path
) -> None:
    live = named(other)
    unseen = live.rename(tmp_path / "crashcart-cache-999999999-x")  # a number of another container
    bounded_cache._sweep(tmp_path)
    assert (unseen / "elements_0.data").exists()
    ended(other)
    bounded_cache._sweep(tmp_path)
    assert not unseen.exists()


def test_what_a_killed_program_left_is_swept(other: subprocess.Popen[str], tmp_path: Path) -> None:
    left = named(other)
    ended(other)
    assert left.exists()
    bounded_cache._sweep(tmp_path)
    assert not left.exists()


def test_what_has_no_lock_or_leads_elsewhere_is_left_alone(tmp_path: Path) -> None:
    foreign = tmp_path / "elsewhere"
    (foreign / "kept").mkdir(parents=True)
    (foreign / "lock").touch()
    place = tmp_path / "place"
    place.mkdir()
    (place / "crashcart-cache-1-x").mkdir()
    (place / "crashcart-cache-link").symlink_to(foreign)
    bounded_cache._sweep(place)
    assert (place / "crashcart-cache-1-x").exists() and (foreign / "kept").exists()


def test_a_folder_goes_with_its_owner_and_not_with_a_forked_copy_of_it(tmp_path: Path) -> None:
    owner, folder = Owner(), bounded_cache._made(tmp_path)
    bounded_cache.delete_with(owner, folder)
    bounded_cache._sweep(tmp_path)
    assert (folder / "lock").exists(), "our own is in use"
    bounded_cache._delete(folder, os.getpid() + 1)
    assert folder.exists()
    held = bounded_cache._HELD[folder]
    del owner
    assert not folder.exists() and not list(tmp_path.iterdir())
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(held)
