"""One death of the bench: a program, how it is started, how it ends, and what a good verdict says.

Covers: the `Death` type, the marked lines of a program, the command and the environment of its run.
Does not cover: running it or judging a verdict; `runner.py` and `score.py` do.

A runner starts `command(...)` in the directory `tmp` (fresh for each run, so that nothing is written elsewhere), with
`environment(...)` added to its own, in a memory group of `limit_mb` where that is not None, sends `signal` after
`signal_after_s` to the process it started, and ends what is left of the process group and of the memory group
afterwards: some of these programs leave workers behind.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from crashcart.finding import Cause
from crashcart.probe.machine import read_machine

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
TOOLS = HERE / "tools"

TMP_VARIABLE = "CRASHCART_BENCH_TMP"
"""Tells a program where its compiled libraries lie and its files go."""
DIES_HERE = "# <-- dies here"
OR_HERE = "# <-- or here"

Setup = Callable[[Path], None]


@dataclass(frozen=True, slots=True)
class Death:
    """What is run, how it ends, and what is to be said about it."""

    name: str
    cause: Cause
    expect_status: int
    """The ending that was seen: the exit code, or minus the signal."""
    program: str = ""
    """The path beneath `programs/`; the name with .py where it is not given."""
    argv: tuple[str, ...] = ("{python}", "{program}")
    """{python}, {program}, {programs}, {tools} and {tmp} are filled in by `command`."""
    also_ok: tuple[Cause, ...] = ()
    """Other causes that the evidence allows an honest observer to name first."""
    file: str = ""
    """The file with the marked line, beneath `programs/`, where it is not the program itself."""
    at: str | None = None
    """The whole text of the line, for programs that are kept verbatim and carry no marker."""
    limit_mb: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 60.0
    signal_after_s: float | None = None
    signal: int | None = None
    setup: Setup | None = None
    """Called with `tmp` before the run."""
    setup_note: str = ""
    lacks: str = ""
    """A flag that the processor must not have: with it the program does not die."""
    abnormal: bool = True

    @property
    def cannot_die_here(self) -> bool:
        """Whether this processor runs the program to its end."""
        return bool(self.lacks) and self.lacks in (read_machine(os.getpid()).cpu_flags or ())

    @property
    def program_path(self) -> Path:
        """The file that is started."""
        return PROGRAMS / (self.program or f"{self.name}.py")

    @property
    def marked_path(self) -> Path:
        """The file of the user's line."""
        return PROGRAMS / self.file if self.file else self.program_path

    @property
    def line(self) -> int | None:
        """The user's own line that a good verdict names; None where there is no such line."""
        if self.at is not None:
            return _only(self.marked_path, [n for n, text in _numbered(self.marked_path) if text.rstrip() == self.at])
        lines = [n for n, text in _numbered(self.marked_path) if text.endswith(DIES_HERE)]
        return _only(self.marked_path, lines) if lines else None

    @property
    def other_lines(self) -> tuple[tuple[Path, int], ...]:
        """Lines that may be named as well: the parent that waited for the child, the stage that holds the memory."""
        folder = self.program_path.parent
        files = [self.program_path] if folder == PROGRAMS else sorted(folder.rglob("*.py"))
        return tuple((file, n) for file in files for n, text in _numbered(file) if text.endswith(OR_HERE))

    def command(self, python: str, tmp: Path) -> list[str]:
        """The arguments to start."""
        values = self._values(python, tmp)
        return [part.format_map(values) for part in self.argv]

    def environment(self, python: str, tmp: Path) -> dict[str, str]:
        """The variables to add to those of the runner."""
        values = self._values(python, tmp)
        added = {name: value.format_map(values) for name, value in self.env.items()}
        return {TMP_VARIABLE: str(tmp), **added}

    def _values(self, python: str, tmp: Path) -> dict[str, str]:
        return {
            "python": python,
            "program": str(self.program_path),
            "programs": str(PROGRAMS),
            "tools": str(TOOLS),
            "tmp": str(tmp),
        }


def _numbered(path: Path) -> list[tuple[int, str]]:
    return list(enumerate(path.read_text(encoding="utf-8").splitlines(), start=1))


def _only(path: Path, lines: list[int]) -> int:
    if len(lines) != 1:
        raise ValueError(f"{path.name} has {len(lines)} lines that match; a death has one")
    return lines[0]
