"""How much each program grows in truth: a plain run of twice its steps, watched from outside.

    python -m bench.leaks.truth [NAME…] [--again] [--folder DIR]

Covers: the process's own memory (RssAnon), read every 10 ms, over the steps, which are told by the lines that the program prints as it
goes. N steps are what the bench runs: the largest value in the second half of the first N steps, beside that in the second half of
the second N. A program that fills something once, or makes garbage in waves, differs by nothing; one that leaks differs by its
leak. Kept in `truths.json`. Does not cover: what crashcart says (`__main__.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from bench import group, processes, trial
from bench.leaks.manifest import LIMIT_MB, SUBJECTS, Subject, outside

TRUTHS = Path(__file__).resolve().parent / "truths.json"
LEAST_MIB = 16.0
"""A leak of the bench takes at least this in the second N steps; a quiet program differs by less."""
LEAST_LINES = 5
"""So that both halves of the steps can be told apart."""
_LOOK_S, _TIMEOUT_S = 0.01, 400.0
_QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONUNBUFFERED": "1"}
Truth = dict[str, float]


def stored() -> dict[str, Truth]:
    """What was measured so far."""
    return dict(json.loads(TRUTHS.read_text(encoding="utf-8"))) if TRUTHS.exists() else {}


def grown_mib(truth: Truth) -> float:
    """What the second N steps added."""
    return truth["long_mib"] - truth["short_mib"]


def measured(subject: Subject) -> Truth:
    """One run of twice the steps; both halves."""
    ran = _run(subject, 2 * subject.steps)
    half = subject.steps
    figures = {"short_mib": ran.largest_mib(0.25, 0.5), "long_mib": ran.largest_mib(0.75, 1.0), "cpu_s": ran.cpu_s}
    return {"steps": half, **{name: round(value, 1) for name, value in figures.items()}}


@dataclass
class _Ran:
    """What was seen of a run."""

    looks: list[tuple[float, int]]
    lines_s: list[float]
    """When each line was printed: as many steps lie between any two of them."""
    cpu_s: float = 0.0

    def largest_mib(self, low: float, high: float) -> float:
        """The largest own memory between these shares of the steps."""
        last = len(self.lines_s) - 1
        from_s, to_s = (self.lines_s[round(share * last)] for share in (low, high))
        return max(own for at_s, own in self.looks if from_s <= at_s <= to_s) / 1024


def _run(subject: Subject, steps: int) -> _Ran:
    tmp = Path(tempfile.mkdtemp(prefix=f"leaks-{subject.name}-"))
    ran = _Ran([], [])
    try:
        with group.memory_group(LIMIT_MB) as place:
            before_s = _children_s()
            process = subprocess.Popen(
                [sys.executable, str(subject.path), str(steps)], cwd=tmp, env={**trial.environment(), **_QUIET},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
                preexec_fn=lambda: group.enter(place),
            )  # fmt: skip
            reader = threading.Thread(target=_read_lines, args=(process, ran.lines_s))
            reader.start()
            status = _watch(process, ran.looks)
            reader.join()
            ran.cpu_s = _children_s() - before_s
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
    if status != 0 or len(ran.lines_s) < LEAST_LINES:
        raise RuntimeError(f"{subject.name} ended with {status} after {steps} steps and {len(ran.lines_s)} lines")
    return ran


def _read_lines(process: subprocess.Popen[bytes], lines_s: list[float]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip():
            lines_s.append(time.monotonic())


def _children_s() -> float:
    return os.times().children_user + os.times().children_system


def _watch(process: subprocess.Popen[bytes], looks: list[tuple[float, int]]) -> int | None:
    deadline_s = time.monotonic() + _TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline_s:
        own_kib = _own_kib(process.pid)
        if own_kib is not None:
            looks.append((time.monotonic(), own_kib))
        time.sleep(_LOOK_S)
    status = process.poll()
    processes.end_group(process.pid)
    process.wait()
    return status


def _own_kib(pid: int) -> int | None:
    """RssAnon; None where the process has just ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("RssAnon:")), None)


def main() -> int:
    parser = argparse.ArgumentParser("bench.leaks.truth")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--again", action="store_true", help="measure also what is known")
    parser.add_argument(
        "--folder", type=Path, help="programs and manifest.json outside the repository; nothing is kept"
    )
    options = parser.parse_args()
    for subject in outside(options.folder) if options.folder else SUBJECTS:
        wanted = subject.name in options.names if options.names else True
        known = stored().get(subject.name)
        if not wanted or (known and known["steps"] == subject.steps and not options.again):
            continue
        try:
            truth = measured(subject)
        except RuntimeError as error:
            print(error, flush=True)
            continue
        TRUTHS.write_text(
            json.dumps({**stored(), subject.name: truth}, indent=1, sort_keys=True) + "\n", encoding="utf-8"
        )
        print(line(subject, truth), flush=True)
    return 0


def line(subject: Subject, truth: Truth) -> str:
    """The truth in words, and whether the manifest is right."""
    grown, kib = grown_mib(truth), grown_mib(truth) * 1024 / subject.steps
    right = "" if (grown >= LEAST_MIB) == subject.leaks else "  <-- THE MANIFEST SAYS OTHERWISE"
    kind = "leaks" if subject.leaks else "quiet"
    figures = f"{truth['short_mib']:7.1f} MiB, twice as long {truth['long_mib']:7.1f} MiB, {kib:8.1f} KiB a step, {truth['cpu_s']:5.1f} s"
    return f"{subject.name:26} {kind} {figures}{right}"


if __name__ == "__main__":
    sys.exit(main())
