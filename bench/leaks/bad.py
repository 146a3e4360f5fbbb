"""Programs of which nothing can be said: `crashcart leaks` has to say so, with the reason, and never that all is well.

Covers: no steps, too few of them, work in forked children, nothing allocated, an early failure, a program that is not Python.
Does not cover: programs of which something can be said (`manifest.py`).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from bench.leaks.judge import last_line
from bench.leaks.watched import Watched, watch
from bench.report import table

FOLDER = Path(__file__).resolve().parent / "programs" / "bad"


@dataclass(frozen=True)
class Bad:
    """A command, and which words its reason has to have (any of them)."""

    name: str
    does: str
    words: tuple[str, ...]
    command: tuple[str, ...] = ()

    @property
    def arguments(self) -> tuple[str, ...]:
        """What is started."""
        return self.command or (sys.executable, str(FOLDER / f"{self.name}.py"))


BAD = (
    Bad("no_steps", "one long computation, no loop", ("step", "repeat")),
    Bad("two_steps", "ends after two steps", ("step",)),
    Bad("works_in_children", "all the work is done by a pool of forked processes", ("child", "fork", "other process")),
    Bad("never_allocates", "a loop that counts and sleeps", ("alloc", "memory")),
    Bad("fails_at_once", "a NameError in the third step", ("step", "end", "fail", "NameError")),
    Bad("empty", "an empty file", ("step", "repeat")),
    Bad(
        "a_shell",
        "no Python program at all",
        ("Python", "step"),
        ("/bin/sh", "-c", "i=0; while [ $i -lt 50 ]; do i=$((i+1)); done"),
    ),
)


def summary() -> str:
    """Each of them, and whether it was said that it could not be checked."""
    lines = [_line(each) for each in BAD]
    right = sum(line[-1] == "right" for line in lines)
    text = (
        f"Of {len(BAD)} programs of which nothing can be said, {right} were reported as not checked, with the reason:"
    )
    return f"{text}\n\n{table(['program', 'what it does', 'said', ''], lines)}"


def _line(bad: Bad) -> list[str]:
    ran = watch(bad.arguments)
    said = _reason(ran)
    right = ran.status == 3 and not ran.findings and any(word.lower() in said.lower() for word in bad.words)
    print(f"bad input: {bad.name:20} status {ran.status} {'right' if right else 'WRONG'}: {said}", flush=True)
    return [bad.name.replace("_", " "), bad.does, said, "right" if right else "WRONG"]


def _reason(ran: Watched) -> str:
    """The paragraph that says that nothing was checked; the last line where there is none."""
    for paragraph in ran.stderr.split("\n\n"):
        text = " ".join(paragraph.split())
        if "not checked" in text.lower():
            return text[text.lower().index("not checked") :][:300]
    return last_line(ran.stderr)
