"""Where recordings live: one folder per run under the user's cache directory, readable by that user alone.

Covers: the place, names, listing, finding one by name, pruning old ones.
Does not cover: what a recording holds (`recording.py`).
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from crashcart.errors import NoRecordingError

MOST_RECORDINGS = 60
HOME_VARIABLE = "CRASHCART_HOME"


def home() -> Path:
    """The folder of all recordings: $CRASHCART_HOME, else crashcart/ in the user's cache directory."""
    chosen = os.environ.get(HOME_VARIABLE)
    if chosen:
        return Path(chosen).absolute()
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cache) if cache.startswith("/") else Path.home() / ".cache") / "crashcart"


def runs_folder() -> Path:
    """The folder that holds one folder per run."""
    return home() / "runs"


def new_folder(name: str) -> Path:
    """Make the folder of a new run; its name sorts by time. OSError where that cannot be."""
    runs = runs_folder()
    for folder in (runs.parent, runs):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if runs.stat().st_uid == os.geteuid():
        runs.chmod(0o700)
    safe = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)[:40].strip(".-") or "run"
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for again in range(100):
        folder = runs / (f"{stamp}-{safe}-{os.getpid()}" + (f".{again}" if again else ""))
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(f"{runs / stamp} is taken a hundred times")


def recordings() -> list[Path]:
    """The folders of all recorded runs, newest first."""
    try:
        entries = list(runs_folder().iterdir())
    except OSError:
        return []
    folders = [entry for entry in entries if entry.is_dir()]
    return sorted(folders, key=lambda folder: folder.name, reverse=True)


def find(name: str | None) -> Path:
    """A recording by its path, its name or a part of it (the newest that fits), or for None the newest that has ended."""
    known = recordings()
    if name is None:
        if not known:
            raise NoRecordingError(f"there is no recording yet (looked in {runs_folder()})")
        return next((folder for folder in known if (folder / "ending.json").exists()), known[0])
    path = Path(name)
    if path.is_dir() and ("/" in name or (path / "run.json").exists()):
        return path
    matches = [folder for folder in known if name in folder.name]
    if matches:
        return next((folder for folder in matches if folder.name == name), matches[0])
    raise NoRecordingError(
        f"there is no recording {name!r} (looked in {runs_folder()})", "`crashcart list` shows them."
    )


def remove(folder: Path) -> None:
    """Remove a recording; what cannot be removed stays."""
    import shutil  # 4 ms with its compressors, which a kernel's start need not wait for

    shutil.rmtree(folder, ignore_errors=True)


def prune(keep: int = MOST_RECORDINGS) -> None:
    """Remove the oldest recordings beyond `keep` that have ended; others may be pruning at the same time."""
    for folder in recordings()[keep:]:
        if (folder / "ending.json").exists() or not is_watched(folder):
            remove(folder)


def is_watched(folder: Path) -> bool:
    """Whether the process that writes the recording is still there."""
    try:
        watcher = json.loads((folder / "run.json").read_bytes()).get("watcher_pid")
        os.kill(int(watcher), 0)
    except PermissionError:
        return True
    except (OSError, ValueError, TypeError, AttributeError):
        return False
    return True
