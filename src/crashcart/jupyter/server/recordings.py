"""Which recordings belong to which kernel.

Covers: finding them by the kernel's id (`kernel.json` in the recording), newest first, without reading a recording twice.
Does not cover: what they say (`live.py`, `deaths.py`), or whether the server knows the kernel (`handlers.py`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crashcart.blackbox import store


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
    kernel_id = read_json(folder / "kernel.json").get("kernel_id")
    if not isinstance(kernel_id, str):
        return None
    program = read_json(folder / "run.json").get("program")
    started = program.get("started_unix_s") if isinstance(program, dict) else None
    return Recording(folder, kernel_id, float(started) if isinstance(started, (int, float)) else None)


def read_json(path: Path) -> dict[str, Any]:
    """A document; empty where it is absent or damaged."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}
