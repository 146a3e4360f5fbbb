"""How many more instructions a program executes under the guard, counted by valgrind: a figure without any noise of time.

Covers: the same programs in smaller blocks, plain and watched; start-up is taken off by counting two lengths.
Does not cover: what instructions cost in time (caches, system calls): that is measured in lockstep (`__main__.py`).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_SHORT, _LONG = 1, 3
_TIMEOUT_S = 900.0
_COUNT = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
_COLLECTED = re.compile(r"Collected\s*:\s*(\d+)")


def extra_share(program: Path, args: Sequence[str], environment: Mapping[str, str]) -> float | None:
    """The share of instructions that the guard adds to a block; None where valgrind is not here or cannot run the program."""
    if shutil.which("valgrind") is None:
        return None
    counted = [sys.executable, str(program), *args]
    plain = _per_block([*_COUNT, *counted], environment)
    guarded = _per_block([sys.executable, "-m", "crashcart", "run", "--", *_COUNT, *counted], environment)
    return None if plain is None or guarded is None else guarded / plain - 1


def _per_block(command: Sequence[str], environment: Mapping[str, str]) -> float | None:
    short, long = (_instructions(command, environment, blocks) for blocks in (_SHORT, _LONG))
    return None if short is None or long is None else (long - short) / (_LONG - _SHORT)


def _instructions(command: Sequence[str], environment: Mapping[str, str], blocks: int) -> int | None:
    try:
        done = subprocess.run(
            command,
            input="go\n" * blocks,
            env={**environment, "PYTHONHASHSEED": "0"},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return None
    found = _COLLECTED.findall(done.stderr)
    return int(found[-1]) if done.returncode == 0 and found else None
