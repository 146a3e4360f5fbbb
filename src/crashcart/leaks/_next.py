"""What to type next where growth could not be judged.

Covers: one remedy for each reason. Does not cover: finding the reason (`collect.py`).
"""

from __future__ import annotations

import shlex
from pathlib import Path

from crashcart.evidence import Evidence, Program

NOT_WATCHED = (
    "this run was recorded, but not watched for growth: `crashcart leaks` does that, and `crashcart run` does not"
)
LONGER = ("ended after", "looked at", "seen over")
_MARK = "mark steps yourself: `import crashcart as cc`, and `cc.step()` in the loop"


def not_python(program: Program) -> str:
    """Why our hook did not run: there is no Python, or it was told to load nothing."""
    name = Path(program.argv[0]).name if program.argv else program.name
    if name.startswith(("python", "pypy", "ipython")):
        return (
            "the interpreter was told to load nothing of its environment (-I, -S or -E), so nothing was measured inside"
        )
    return (
        f"{name} is no Python program, or started a Python that was told to load nothing; nothing was measured inside"
    )


def next_for(reason: str, evidence: Evidence) -> list[str]:
    """What to do about it; nothing where nobody knows."""
    program = evidence.program
    if reason == NOT_WATCHED and program is not None:
        return [f"crashcart leaks -- {shlex.join(program.argv)}"]
    if program is not None and program.hooked is False:
        return ["start Python itself, without -I, -S and -E: `crashcart leaks -- python train.py`"]
    if "went unwatched" in reason:
        return ["watch the program that does the work: `crashcart leaks -- python …`"]
    if "`%leaks on`" in reason or "the watch failed" in reason:
        return []
    if any(each in reason for each in LONGER):
        return ["let it run for more steps", _MARK]
    return [_MARK]
