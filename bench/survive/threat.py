"""One program of the bench: what eats its memory, in how much memory it runs, and what it prints when it has lived on.

Covers: the `Threat` type. Does not cover: running it (`bench.trial`) or judging the run (`outcome.py`).
"""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from pathlib import Path

from bench.trial import Program, Setup

PROGRAMS = Path(__file__).resolve().parent / "programs"


@dataclass(frozen=True, slots=True)
class Threat:
    """A program that runs out of memory in its group."""

    name: str
    limit_mb: int
    alive: str
    """What it prints after `ALIVE`, computed from what it had before and from something new."""
    eats: str
    """What eats the memory, in a few words."""
    tries: bool = True
    """It catches the error, or goes on with the next cell; otherwise it has to finish."""
    plain_status: int = -signal.SIGKILL
    """How it ends without the guard: the parent of a child that is killed ends by an error of its own."""
    program: str = ""
    """The path beneath `programs/`; the name with .py where it is not given."""
    args: tuple[str, ...] = field(default=())
    timeout_s: float = 120.0
    setup: Setup | None = None

    def as_program(self) -> Program:
        """What is started."""
        path = PROGRAMS / (self.program or f"{self.name}.py")
        return Program(path, self.limit_mb, self.args, timeout_s=self.timeout_s, setup=self.setup)
