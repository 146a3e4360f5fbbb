"""One run of one program in a fresh memory group, plain or under `crashcart run`: how it ended and what it printed.

Covers: starting it in an empty directory, the time limit, counting the kernel's OOM kills, cleaning up after it.
Does not cover: which programs there are, and judging how they did; the benches `survive` and `alarms` do.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import group, processes

Setup = Callable[[Path], None]
_QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONUNBUFFERED": "1"}


@dataclass(frozen=True)
class Program:
    """What is run and in how much memory."""

    path: Path
    limit_mb: int
    args: tuple[str, ...] = ()
    argv: tuple[str, ...] = ("{python}", "{program}")
    """{python}, {program} and {tmp} are filled in; `args` follow."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to the runner's own; {tmp} is filled in."""
    timeout_s: float = 60.0
    setup: Setup | None = None
    """Called with the fresh working directory before the run, outside the group."""

    def command(self, tmp: Path) -> list[str]:
        """The arguments to start."""
        values = {"python": sys.executable, "program": str(self.path), "tmp": str(tmp)}
        return [part.format_map(values) for part in self.argv] + list(self.args)


@dataclass(frozen=True)
class Ran:
    """How one run ended."""

    status: int | None
    """The exit code, or minus the signal; None where it had to be killed at the time limit."""
    seconds: float
    stdout: str
    stderr: str
    oom_kills: int
    document: dict[str, Any] | None
    """crashcart's JSON report, where there is one."""

    @property
    def verdict(self) -> str | None:
        """The cause that crashcart names first; None where it named none."""
        findings = (self.document or {}).get("findings") or []
        return findings[0]["cause"] if findings else None


def environment() -> dict[str, str]:
    """Ours, with the paths of PYTHONPATH made absolute: a run starts in another directory and must find the same crashcart."""
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {**os.environ, "PYTHONPATH": os.pathsep.join(str(Path(path).resolve()) for path in paths if path)}


def run(program: Program, guarded: bool, report: bool = False) -> Ran:
    """Run the program to its end, watcher and program in one group, and clean up after it.

    With `report`, crashcart writes its JSON document, which takes it some tenths of a second after the end.
    """
    tmp = Path(tempfile.mkdtemp(prefix=f"trial-{program.path.stem}-"))
    side = Path(tempfile.mkdtemp(prefix="trial-side-"))
    try:
        if program.setup is not None:
            program.setup(tmp)
        with group.memory_group(program.limit_mb) as place:
            assert place is not None
            return _run_in(place, _command(program, guarded, report, tmp, side), program, tmp, side)
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
        shutil.rmtree(side, ignore_errors=True)


def _command(program: Program, guarded: bool, report: bool, tmp: Path, side: Path) -> list[str]:
    if not guarded:
        return program.command(tmp)
    options = ["--json", str(side / "report.json")] if report else []
    return [sys.executable, "-m", "crashcart", "run", *options, "--", *program.command(tmp)]


def _run_in(place: Path, command: Sequence[str], program: Program, tmp: Path, side: Path) -> Ran:
    added = {name: value.format(tmp=tmp) for name, value in program.env.items()}
    variables = {**environment(), **_QUIET, **added, "CRASHCART_HOME": str(side / "home")}
    with (side / "stdout").open("wb") as out, (side / "stderr").open("wb") as err:
        started_s = time.monotonic()
        process = subprocess.Popen(
            command, cwd=tmp, env=variables, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            start_new_session=True, preexec_fn=lambda: group.enter(place),
        )  # fmt: skip
        status = _wait(process, program.timeout_s)
        seconds = time.monotonic() - started_s
    kills = group.oom_kills(place)
    document = side / "report.json"
    return Ran(
        status,
        seconds,
        (side / "stdout").read_text(errors="replace"),
        (side / "stderr").read_text(errors="replace"),
        kills,
        json.loads(document.read_text()) if document.exists() else None,
    )


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> int | None:
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        processes.end_group(process.pid)
        process.wait()
