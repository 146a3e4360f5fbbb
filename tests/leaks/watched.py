"""Runs a program under the watch over growth alone, as the start-up hook starts it, and reads back what it wrote."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from crashcart.blackbox.growth import read_growth
from crashcart.growth import Growth, Kept
from crashcart.leaks.attend import environment
from crashcart.record.spawn import hooked_environment


@dataclass(frozen=True)
class Watched:
    """A program that has ended."""

    code: int
    out: str
    err: str
    growth: Growth

    def kept(self, name: str) -> Kept:
        return next(each for each in self.growth.kept if each.name == name)


def plain(folder: Path, source: str, name: str = "train.py") -> subprocess.CompletedProcess[str]:
    """The program as it runs without us."""
    return _run(folder, source, name, _quiet(dict(os.environ)))


def watch(folder: Path, source: str, precise: bool = False, name: str = "train.py") -> Watched:
    """The program under the watch; its records go to a folder beside it."""
    recording = folder / "recording"
    recording.mkdir()
    hooked = hooked_environment(environment(_quiet(dict(os.environ)), recording, precise), recording)
    hooked.pop("LD_PRELOAD", None)
    done = _run(folder, source, name, hooked)
    growth = read_growth(recording)
    assert growth is not None, done.stderr
    return Watched(done.returncode, done.stdout, done.stderr, growth)


def _quiet(environment: dict[str, str]) -> dict[str, str]:
    hidden = ("CRASHCART_RECORDING", "CRASHCART_INSIDE", "CRASHCART_LEAKS_PRECISE")
    kept = {name: value for name, value in environment.items() if name not in hidden}
    return {**kept, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONHASHSEED": "0"}


def _run(folder: Path, source: str, name: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    program = folder / name
    program.write_text(source)
    return subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, env=environment, cwd=folder, timeout=110
    )
