"""What `crashcart leaks` adds to the environment of the program that it starts.

Covers: having the start-up hook load the watch over growth, and how closely it looks.
Does not cover: starting the program (`record/`), or what is found (the rules).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

INSIDE_VARIABLE, INSIDE_SEPARATOR = "CRASHCART_INSIDE", "//"
PRECISE_VARIABLE = "CRASHCART_LEAKS_PRECISE"
WATCH = Path(__file__).parent / "inside" / "_crashcart_leaks.py"


def environment(environment: Mapping[str, str], folder: Path, precise: bool = False) -> dict[str, str]:
    """The environment in which the program's first interpreter watches its own growth; its records go to `folder`,
    which is the recording that the start-up hook writes to."""
    del folder  # named by CRASHCART_RECORDING
    attended = dict(environment)
    others = [each for each in attended.get(INSIDE_VARIABLE, "").split(INSIDE_SEPARATOR) if each]
    attended[INSIDE_VARIABLE] = INSIDE_SEPARATOR.join(dict.fromkeys([*others, str(WATCH)]))
    if precise:
        attended[PRECISE_VARIABLE] = "1"
    return attended
