"""One program under `crashcart leaks`, in a memory group of its own: its status, its report, and what it printed.

Covers: the run, the time limit, the processor time of program and watcher together, cleaning up.
Does not cover: what is true (`truth.py`), and judging what was said (`judge.py`).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import group, processes, trial
from bench.leaks.manifest import LIMIT_MB

_QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONUNBUFFERED": "1"}
TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Watched:
    """What came of a run."""

    status: int | None
    """Exit code of the command: 0 nothing found, 1 findings, 3 not checked; None where it had to be killed."""
    document: dict[str, Any] | None
    stderr: str
    cpu_s: float

    @property
    def findings(self) -> list[dict[str, Any]]:
        """Those of leaks, the first being the verdict; a note is worth knowing and no claim."""
        found = (self.document or {}).get("findings") or []
        return [each for each in found if each["cause"] == "memory-leak" and each.get("level") != "note"]


def watch(command: Sequence[str], options: Sequence[str] = ()) -> Watched:
    """Run the command to its end under `crashcart leaks`."""
    tmp = Path(tempfile.mkdtemp(prefix="leaks-run-"))
    side = Path(tempfile.mkdtemp(prefix="leaks-side-"))
    try:
        with group.memory_group(LIMIT_MB) as place:
            return _run(place, command, options, tmp, side)
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
        shutil.rmtree(side, ignore_errors=True)


def _run(place: Path | None, command: Sequence[str], options: Sequence[str], tmp: Path, side: Path) -> Watched:
    variables = {**trial.environment(), **_QUIET, "CRASHCART_HOME": str(side / "home")}
    document = side / "report.json"
    before_s = _children_s()
    with (side / "stderr").open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "crashcart", "leaks", *options, "--json", str(document), "--", *command],
            cwd=tmp, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err,
            start_new_session=True, preexec_fn=lambda: group.enter(place),
        )  # fmt: skip
        try:
            status: int | None = process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            status = None
        processes.end_group(process.pid)
        process.wait()
    written = json.loads(document.read_text()) if document.exists() and document.stat().st_size else None
    return Watched(status, written, (side / "stderr").read_text(errors="replace"), _children_s() - before_s)


def _children_s() -> float:
    return os.times().children_user + os.times().children_system
