"""Which recordings are of which kernel.

Covers: the note in a recording that says of which kernel it is, and finding a kernel's recordings by it; what the kernel said of
itself.
Does not cover: what they hold.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crashcart.blackbox import store
from crashcart.blackbox.recording import write_json

FILE_NAME = "kernel.json"
KERNEL_VARIABLE = "CRASHCART_KERNEL"
"""In a watched kernel: its id."""
INFORMATION_FILE = "kernel-information.json"
"""Written by the hook inside the kernel."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """Of which kernel a recording is."""

    kernel_id: str
    connection_file: str
    session_name: str | None
    """The notebook, as Jupyter calls it; None where there is none or it is not known."""


def introduce(folder: Path, kernel_id: str, connection_file: str, session_name: str | None) -> None:
    """Write down which kernel the recording is of."""
    facts = {"kernel_id": kernel_id, "connection_file": connection_file, "session_name": session_name}
    write_json(folder / FILE_NAME, {"schema": 1, **facts})


def read_kernel(folder: Path) -> Kernel | None:
    """Which kernel the recording is of; None where it is of another program."""
    try:
        facts = json.loads((folder / FILE_NAME).read_bytes())
        return Kernel(facts["kernel_id"], facts["connection_file"], facts["session_name"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_information(folder: Path) -> dict[str, Any] | None:
    """What the kernel answers to who asks what it is; None where it came to no answer."""
    try:
        found = json.loads((folder / INFORMATION_FILE).read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def recordings_of(kernel_id: str) -> Iterator[Path]:
    """The recordings of a kernel, newest first: one for each time it was started."""
    for folder in store.recordings():
        kernel = read_kernel(folder)
        if kernel is not None and kernel.kernel_id == kernel_id:
            yield folder


def ended_lives(kernel_id: str) -> Iterator[Path]:
    """The recordings that have ended, newest first: of the kernel's earlier lives, and of others of the same notebook."""
    present = next(recordings_of(kernel_id), None)
    notebook = kernel.session_name if present is not None and (kernel := read_kernel(present)) is not None else None
    for folder in store.recordings():
        kernel = read_kernel(folder)
        if kernel is None or not (folder / "ending.json").exists():
            continue
        if kernel.kernel_id == kernel_id or (notebook is not None and kernel.session_name == notebook):
            yield folder
