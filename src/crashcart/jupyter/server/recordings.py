"""Which recordings belong to which kernel.

Covers: finding them by the kernel's id (`kernel.json` in the recording), newest first, without reading a recording twice.
Does not cover: what they say (`present.py`, `deaths.py`), or whether the server knows the kernel (`handlers.py`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from crashcart.blackbox import store
from crashcart.blackbox.kernels import read_kernel


@dataclass(frozen=True, slots=True)
class Recording:
    """One life of a kernel: it has another one after each restart."""

    folder: Path
    kernel_id: str
    started_unix_s: float | None
    """None where the beginning of the recording cannot be read."""

    @property
    def has_ended(self) -> bool:
        """Whether the end was written down, or nobody is left to do it."""
        return (self.folder / "ending.json").exists() or not store.is_watched(self.folder)


class Recordings:
    """The recordings of kernels under the user's home of recordings."""

    def __init__(self) -> None:
        self._known: dict[str, Recording] = {}

    def of_kernel(self, kernel_id: str) -> list[Recording]:
        """All lives of a kernel, newest first."""
        found = [recording for recording in self._all() if recording.kernel_id == kernel_id]
        return sorted(found, key=lambda each: (each.started_unix_s or 0.0, each.folder.name), reverse=True)

    def _all(self) -> list[Recording]:
        folders = {folder.name: folder for folder in store.recordings()}
        known = {name: recording for name, recording in self._known.items() if name in folders}
        for name in folders.keys() - known.keys():
            recording = _recording(folders[name])
            if recording is not None:
                known[name] = recording
        self._known = known
        return list(known.values())


def _recording(folder: Path) -> Recording | None:
    """The recording of a kernel; None for one of another program, or one whose kernel is not yet written down."""
    kernel = read_kernel(folder)
    return None if kernel is None else Recording(folder, kernel.kernel_id, _started_unix_s(folder))


def _started_unix_s(folder: Path) -> float | None:
    try:
        return float(json.loads((folder / "run.json").read_bytes())["program"]["started_unix_s"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
