"""Kernels of one's own for benches and tests: Jupyter finds one Python kernel, plain or watched, in a folder made for it.

Covers: the kernelspec, made by ipykernel and enabled by crashcart's own command, and the environment in which Jupyter finds
it before all others and writes nothing elsewhere. Does not cover: starting kernels.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.trial import environment

NAME = "python3"
_FOLDERS = {
    "JUPYTER_PATH": "jupyter",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_RUNTIME_DIR": "runtime",
    "IPYTHONDIR": "ipython",
    "CRASHCART_HOME": "home",
}


def variables(folder: Path) -> dict[str, str]:
    """The environment of a process that is to start the kernel that lies in the folder."""
    own = {name: str(folder / part) for name, part in _FOLDERS.items()}
    return {**environment(), **own, "JUPYTER_PLATFORM_DIRS": "1", "NO_COLOR": "1"}


def make_plain(folder: Path, overrides: Mapping[str, Any] | None = None) -> Path:
    """Write ipykernel's own kernelspec; returns where it lies."""
    from ipykernel.kernelspec import write_kernel_spec

    path = folder / "jupyter" / "kernels" / NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    write_kernel_spec(path, dict(overrides or {}))
    return path


def make_watched(folder: Path, options: Sequence[str] = (), overrides: Mapping[str, Any] | None = None) -> Path:
    """The same, and enabled as a user would."""
    path = make_plain(folder, overrides)
    command = [sys.executable, "-m", "crashcart", "jupyter", "enable", "--kernel", NAME, *options]
    subprocess.run(command, env=variables(folder), check=True, stdout=subprocess.DEVNULL)
    return path


def recordings(folder: Path) -> list[Path]:
    """The recordings made by the folder's kernels, oldest first."""
    found = (folder / "home" / "runs").glob("*") if (folder / "home" / "runs").is_dir() else ()
    return sorted(found, key=lambda each: os.stat(each).st_mtime_ns)
