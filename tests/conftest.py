"""What all tests share: a home of their own for recordings, and `crashcart` as a subprocess."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


for _number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    # A job in the background is started with these ignored, and so would be every program that a test starts.
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number is signal.SIGINT else signal.SIG_DFL)


LONGEST_FIRST = ("deaths", "doctor")
"""Folders whose files take minutes: begun first, so that two workers end at about the same time."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first; else as they were collected."""
    order = {name: place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: order.get(item.path.parent.name, len(order)))


@dataclass(frozen=True)
class Done:
    """One finished `crashcart` command."""

    code: int
    out: str
    err: str
    folder: Path | None

    @property
    def report(self) -> dict[str, Any]:
        assert self.folder is not None
        done = subprocess.run(
            [sys.executable, "-m", "crashcart", "why", str(self.folder), "--json"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        return json.loads(done.stdout)

    @property
    def verdict(self) -> dict[str, Any]:
        findings = self.report["findings"]
        return findings[0] if findings else {}


class Crashcart:
    """Runs the command line in a home of its own."""

    def __init__(self, home: Path, scratch: Path) -> None:
        self.home = home
        self.scratch = scratch
        self.environment = {**os.environ, "CRASHCART_HOME": str(home), "NO_COLOR": "1"}

    def __call__(self, *arguments: str, timeout_s: float = 60, **options: Any) -> subprocess.CompletedProcess[str]:
        environment = {**self.environment, **options.pop("env", {})}
        return subprocess.run(
            [sys.executable, "-m", "crashcart", *arguments],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            env=environment,
            cwd=options.pop("cwd", self.scratch),
            **options,
        )

    def program(self, source: str, name: str = "program.py") -> str:
        path = self.scratch / name
        path.write_text(source)
        return str(path)

    def command(self, source: str, *options: str, name: str = "program.py") -> list[str]:
        """Runs a Python program given as text; for tests that start it in a way of their own."""
        return [sys.executable, "-m", "crashcart", "run", *options, "--", sys.executable, self.program(source, name)]

    def start(self, source: str, *options: str, name: str = "program.py", **popen: Any) -> subprocess.Popen[str]:
        """Start a Python program given as text, and do not wait for it."""
        given = {"env": self.environment, "stdout": subprocess.PIPE, **popen}
        return subprocess.Popen(self.command(source, *options, name=name), text=True, **given)

    def run(self, source: str, *arguments: str, name: str = "program.py", **options: Any) -> Done:
        """Run a Python program given as text."""
        done = self("run", "--", sys.executable, self.program(source, name), *arguments, **options)
        return Done(done.returncode, done.stdout, done.stderr, self.last())

    def last(self) -> Path | None:
        folders = sorted((self.home / "runs").glob("*")) if (self.home / "runs").exists() else []
        return max(folders, key=lambda folder: folder.stat().st_mtime_ns) if folders else None


@pytest.fixture
def crashcart(tmp_path: Path) -> Crashcart:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return Crashcart(tmp_path / "home", scratch)
