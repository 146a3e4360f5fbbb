"""Where the shared file lies: in memory, else beside the recording; and that none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from crashcart.guard import file
from tests.conftest import Crashcart

SIZE_BYTES = 65536


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    path = tmp_path / "memory"
    path.mkdir()
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "recording"
    path.mkdir()
    return path


@pytest.fixture
def small(memory: Path) -> Iterator[Path]:
    """A memory file system that has no room for the file."""
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", memory], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    yield memory
    subprocess.run(["umount", memory], check=True)


def test_the_file_is_in_memory_and_the_recording_links_to_it(folder: Path, memory: Path) -> None:
    made = file.make(folder, SIZE_BYTES, memory)
    (path,) = memory.iterdir()
    assert (folder / file.FILE_NAME).resolve() == path == made.path
    assert path.stat().st_mode & 0o777 == 0o600 and path.read_bytes() == bytes(SIZE_BYTES)
    made.remove()
    assert not list(memory.iterdir()) and not list(folder.iterdir())


def test_without_memory_it_lies_beside_the_recording(folder: Path, tmp_path: Path) -> None:
    made = file.make(folder, SIZE_BYTES, tmp_path / "nowhere")
    assert made.path == made.link == folder / file.FILE_NAME and made.path.stat().st_size == SIZE_BYTES
    made.remove()
    assert not list(folder.iterdir())


def test_memory_that_is_too_small_is_left_as_it_was(folder: Path, small: Path) -> None:
    made = file.make(folder, SIZE_BYTES, small)
    assert made.path == folder / file.FILE_NAME and not list(small.iterdir())
    made.remove()


def test_a_recording_that_can_hold_no_link_holds_the_file(
    folder: Path, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(Path, "symlink_to", fail)
    made = file.make(folder, SIZE_BYTES, memory)
    assert made.path == folder / file.FILE_NAME and not list(memory.iterdir())
    made.remove()


def test_what_a_killed_watcher_left_is_removed_by_the_next(folder: Path, memory: Path) -> None:
    lives = file.make(folder, SIZE_BYTES, memory)
    (memory / f"{file.PREFIX}left").write_bytes(b"")
    (memory / f"{file.PREFIX}link").symlink_to(folder)
    (memory / "of another program").write_bytes(b"")
    file.remove_left(memory)
    assert {each.name for each in memory.iterdir()} == {lives.path.name, f"{file.PREFIX}link", "of another program"}
    lives.remove()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_what_others_left_stays(memory: Path) -> None:
    path = memory / f"{file.PREFIX}of-another"
    path.write_bytes(b"")
    os.chown(path, 65534, 65534)
    file.remove_left(memory)
    assert path.exists()


def test_a_run_leaves_nothing_in_memory_and_a_killed_one_leaves_it_to_the_next(crashcart: Crashcart) -> None:
    source = "import os, time\nprint(os.path.realpath(os.environ['CRASHCART_RECORDING'] + '/guard'), flush=True)\ntime.sleep({})\n"
    done = crashcart.run(source.format(0))
    assert done.out.startswith(str(file.MEMORY / file.PREFIX)) and not Path(done.out.strip()).exists()
    watcher = crashcart.start(source.format(2))
    assert watcher.stdout is not None
    left = Path(watcher.stdout.readline().strip())
    watcher.send_signal(signal.SIGKILL)
    watcher.wait()
    assert left.exists()
    crashcart.run(source.format(0))
    assert not left.exists()
    watcher.stdout.read()
    watcher.stdout.close()
