"""A machine with an NVIDIA driver for programs that tests start: the stand-in library, its figures, and the driver's signs.

The real nvidia-ml-py finds the library by LD_LIBRARY_PATH, so it is only seen in a process of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).with_name("stand_in.c")
PACKAGE = Path(__file__).resolve().parents[2] / "src"
GIB = 1024**3


@dataclass(frozen=True)
class Gpu:
    """What the stand-in is to say of one device."""

    used_bytes: int
    total_bytes: int = 16 * GIB
    held: Mapping[int, int | None] | None = None
    name: str = "Tesla T4"
    capability: str = "7.5"

    def line(self) -> str:
        held = ",".join(f"{pid}={'-' if count is None else count}" for pid, count in (self.held or {}).items()) or "-"
        return f"{self.total_bytes} {self.total_bytes - self.used_bytes} {held} {self.capability} {self.name}\n"


class Driver:
    """The stand-in in a folder: `root` has the driver's signs, `figures` what it says."""

    def __init__(self, folder: Path, *flags: str) -> None:
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("no C compiler for the stand-in driver")
        pytest.importorskip("pynvml")
        self.root, self.figures, library = folder / "root", folder / "figures", folder / "lib"
        for each in (self.root / "dev", library):
            each.mkdir(parents=True)
        (self.root / "dev/nvidiactl").touch()
        built = [
            compiler,
            "-O1",
            "-Wall",
            "-shared",
            "-fPIC",
            *flags,
            "-o",
            str(library / "libnvidia-ml.so.1"),
            str(SOURCE),
        ]
        subprocess.run(built, check=True, timeout=60)
        self.environment = {
            **os.environ, "LD_LIBRARY_PATH": str(library), "STAND_IN_NVML": str(self.figures), "PYTHONPATH": str(PACKAGE),
            "CRASHCART_HOME": str(folder / "home"), "ROOT": str(self.root),
        }  # fmt: skip

    def say(self, *devices: Gpu) -> None:
        scratch = self.figures.with_suffix(".new")
        scratch.write_text("".join(each.line() for each in devices))
        scratch.rename(self.figures)

    def run(self, source: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a Python program in which the driver can be found; it must end well."""
        done = subprocess.run(
            [sys.executable, "-c", source],
            env={**self.environment, **options},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done
