"""The smallest leaks that have to be found: how much a step, in how large a process, within how many steps.

Covers: a training of a process of 1 GiB with noise of several MiB, with a leak of 1 MiB a step over 60 steps, of 64 KiB over 400, and
without one over as many. Does not cover: line and holder (`__main__.py` asks for them in the other programs).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from bench.leaks.watched import watch
from bench.report import table

PROGRAM = Path(__file__).resolve().parent / "programs" / "steady_leak.py"
KINDS = ("array", "tensor", "objects")
PROCESS_MIB = 1024


@dataclass(frozen=True)
class Case:
    """So much in each of so many steps."""

    kib: int
    steps: int


CASES = (Case(1024, 60), Case(64, 400), Case(0, 60), Case(0, 400))


def summary() -> str:
    """Each case with each kind of memory, one run after the other."""
    lines = []
    for case in CASES:
        for kind in KINDS:
            lines.append(_line(case, kind))
            print("sensitivity:", *lines[-1], flush=True)
    text = f"A training in a process of {PROCESS_MIB} MiB with noise of up to 8 MiB a step:"
    return f"{text}\n\n{table(['leak a step', 'steps', 'of', 'said', 'per step, as reported'], lines)}"


def _line(case: Case, kind: str) -> list[str]:
    ran = watch([sys.executable, str(PROGRAM), str(case.steps), str(case.kib), kind, str(PROCESS_MIB)])
    said = (
        "found"
        if ran.findings
        else {0: "clear", 3: "not checked"}.get(-1 if ran.status is None else ran.status, f"failed ({ran.status})")
    )
    rate = ran.findings[0].get("bytes_per_step") if ran.findings else None
    told = "–" if rate is None else f"{rate / 1024:.0f} KiB"
    return [f"{case.kib} KiB" if case.kib else "none", str(case.steps), kind, said, told]
