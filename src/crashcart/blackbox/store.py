"""Where recordings live: one folder per run under the user's cache directory, readable by that user alone.

Covers: the place, names, listing, finding one by name, pruning old ones.
Does not cover: what a recording holds (`recording.py`).
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from crashcart.errors import NoRecordingError

MOST_RECORDINGS = 60
HOME_VARIABLE = "CRASHCART_HOME"


def home() -> Path:
    """The folder of all recordings: $CRASHCART_HOME, else crashcart/ in the user's cache directory."""
    chosen = os.environ.get(HOME_VARIABLE)
    if chosen:
        return Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "crashcart"


def runs_folder() -> Path:
    """The folder that holds one folder per run."""
    return home() / "runs"


def new_folder(name: str) -> Path:
    """Make the folder of a new run; its name sorts by time. OSError where that cannot be."""
    runs = runs_folder()
    runs.mkdir(parents=True, exist_ok=True, mode=0o700)
    runs.chmod(0o700)
    safe = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)[:40].strip(".-") or "run"
    stamp = time.strftime("%Y%m%d-%H%M%S")
    folder = runs / f"{stamp}-{safe}-{os.getpid()}"
    folder.mkdir(mode=0o700)
    return folder


def recordings() -> list[Path]:
    """The folders of all recorded runs, newest first."""
    try:
        entries = list(runs_folder().iterdir())
    except OSError:
        return []
    folders = [entry for entry in entries if entry.is_dir()]
    return sorted(folders, key=lambda folder: folder.name, reverse=True)


def find(name: str | None) -> Path:
    """A recording by its name, a unique beginning or part of it, its path, or the newest one for None."""
    known = recordings()
    if name is None:
        if not known:
            raise NoRecordingError(f"there is no recording yet (looked in {runs_folder()})")
        return known[0]
    path = Path(name)
    if path.is_dir() and ("/" in name or (path / "run.json").exists()):
        return path
    matches = [folder for folder in known if name in folder.name]
    if len(matches) == 1 or (matches and matches[0].name == name):
        return matches[0]
    if matches:
        some = ", ".join(folder.name for folder in matches[:4])
        raise NoRecordingError(f"{name!r} fits {len(matches)} recordings: {some}", "Give more of the name.")
    raise NoRecordingError(
        f"there is no recording {name!r} (looked in {runs_folder()})", "`crashcart list` shows them."
    )


def remove(folder: Path) -> None:
    """Remove a recording; what cannot be removed stays."""
    shutil.rmtree(folder, ignore_errors=True)


def prune(keep: int = MOST_RECORDINGS) -> None:
    """Remove the oldest recordings beyond `keep`. One that still runs is among the newest, or has outlived 60 others."""
    for folder in recordings()[keep:]:
        if (folder / "ending.json").exists() or time.time() - folder.stat().st_mtime > 7 * 86400:
            remove(folder)
