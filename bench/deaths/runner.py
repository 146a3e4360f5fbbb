"""One death, run for real in one of three ways: under crashcart, plainly, or with Python's faulthandler.

Covers: starting the program in its memory group, sending it the signal it is to die of, cleaning up after it.
Does not cover: judging what is said about it (`score.py`).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import group, processes
from bench.deaths.death import Death

WAYS = ("crashcart", "plain", "faulthandler")


@dataclass(frozen=True)
class Ran:
    """How one run ended, what it printed, and under crashcart the JSON document."""

    status: int | None
    seconds: float
    output: str
    document: dict[str, Any] | None


def run(death: Death, way: str) -> Ran:
    """Run the program to its end and clean up after it."""
    tmp = Path(tempfile.mkdtemp(prefix=f"death-{death.name}-"))
    side = Path(tempfile.mkdtemp(prefix="death-side-"))
    try:
        if death.setup is not None:
            death.setup(tmp)
        with group.memory_group(death.limit_mb) as place:
            return _run_in(death, way, tmp, side, place)
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
        shutil.rmtree(side, ignore_errors=True)


def _run_in(death: Death, way: str, tmp: Path, side: Path, place: Path | None) -> Ran:
    command = death.command(sys.executable, tmp)
    if way == "crashcart":
        command = [
            sys.executable,
            "-m",
            "crashcart",
            "run",
            "--no-guard",
            "--json",
            str(side / "report.json"),
            "--",
            *command,
        ]
    with (side / "output").open("wb") as output:
        started_s = time.monotonic()
        process = subprocess.Popen(
            command, cwd=tmp, env=_environment(death, way, tmp, side), stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=lambda: _before_start(place),
        )  # fmt: skip
        status = _wait(process, death, way == "crashcart")
        seconds = time.monotonic() - started_s
        processes.end_group(process.pid)
    report = side / "report.json"
    document = json.loads(report.read_text()) if report.exists() else None
    return Ran(status, seconds, (side / "output").read_text(errors="replace"), document)


def _before_start(place: Path | None) -> None:
    """Into the group, and with the signals that a shell's background job would ignore back to their own effect."""
    group.enter(place)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _environment(death: Death, way: str, tmp: Path, side: Path) -> dict[str, str]:
    variables = {**os.environ, **death.environment(sys.executable, tmp), "CRASHCART_HOME": str(side / "home")}
    variables.pop("PYTHONFAULTHANDLER", None)
    if way == "faulthandler":
        variables["PYTHONFAULTHANDLER"] = "1"
    return variables


def _wait(process: subprocess.Popen[bytes], death: Death, watched: bool) -> int | None:
    """The status, or None where it had to be killed at the timeout. The signal goes to the program itself,
    which is the watcher's one child."""
    started_s = time.monotonic()
    signalled = death.signal is None
    while (elapsed_s := time.monotonic() - started_s) < death.timeout_s * 1.5:
        try:
            return process.wait(0.1)
        except subprocess.TimeoutExpired:
            pass
        if not signalled and elapsed_s >= (death.signal_after_s or 0.0):
            os.kill(processes.children(process.pid)[0] if watched else process.pid, death.signal or signal.SIGTERM)
            signalled = True
    process.kill()
    process.wait()
    return None
