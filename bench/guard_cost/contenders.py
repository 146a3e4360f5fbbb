"""The ways to run a program that are compared, and whether a way works here at all.

Covers: the commands of crashcart, memray, Fil and Scalene, and one trial block of each. Does not cover: measuring (`__main__.py`).
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

Command = list[str]
Way = Callable[[Path, Sequence[str], Path], Command]
_TRIAL_S = 240.0


def _plain(program: Path, args: Sequence[str], _side: Path) -> Command:
    return [sys.executable, str(program), *args]


def _crashcart(program: Path, args: Sequence[str], side: Path) -> Command:
    return [sys.executable, "-m", "crashcart", "run", "--", *_plain(program, args, side)]


def _memray(program: Path, args: Sequence[str], side: Path) -> Command:
    options = ["run", "--quiet", "--force", "--output", str(side / f"{program.stem}.memray")]
    return [sys.executable, "-m", "memray", *options, str(program), *args]


def _fil(program: Path, args: Sequence[str], side: Path) -> Command:
    return [sys.executable, "-m", "filprofiler", "-o", str(side / "fil"), "--no-browser", "run", str(program), *args]


def _scalene(program: Path, args: Sequence[str], side: Path) -> Command:
    options = ["run", "-o", str(side / f"{program.stem}.scalene.json")]
    return [sys.executable, "-m", "scalene", *options, str(program), "---", *args]


AGAIN = "plain again"
WAYS: Mapping[str, Way] = {
    "plain": _plain,
    AGAIN: _plain,  # the same once more: how far from 1 the noise of the machine alone goes
    "crashcart": _crashcart,
    "memray": _memray,
    "Fil": _fil,
    "Scalene": _scalene,
}
PEERS: Mapping[str, str] = {"memray": "memray", "Fil": "filprofiler", "Scalene": "scalene"}


def why_not(name: str, command: Command, environment: Mapping[str, str], side: Path) -> str | None:
    """Why this way cannot run the program, from one block of it; None where it can."""
    module = PEERS.get(name)
    if module and importlib.util.find_spec(module) is None:
        return "not installed"
    try:
        ran = subprocess.run(
            command, input="go\n", env=dict(environment), cwd=side, capture_output=True, text=True, timeout=_TRIAL_S
        )
    except subprocess.TimeoutExpired:
        return f"no end within {_TRIAL_S:.0f} s"
    lines = ran.stdout.split()
    if "ready" in lines and _is_number("".join(lines[lines.index("ready") + 1 :][:1])):
        return None
    last = (ran.stderr.strip().splitlines() or ["no message"])[-1].replace("|", " ")
    return f"exit code {ran.returncode}: {last[:100]}" if "ready" not in lines else "the block is not answered"


def _is_number(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False
