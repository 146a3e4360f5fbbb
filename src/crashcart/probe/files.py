"""Files that an error message names: are they there, and how large?

Covers: absolute paths and paths relative to the program's directory, at the moment of asking.
Does not cover: their content.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

MOST_FILES = 12
_QUOTED = re.compile(r"['\"`=]((?:/|\./|\.\./)?[^\s'\"`;,()]{1,300}\.[A-Za-z0-9]{1,12})['\"`;,.)\s]")
_BARE = re.compile(r"(?:^|[\s=:(])(/[^\s;,'\"()]{1,400})")


def named_files(messages: Iterable[str], cwd: str) -> dict[str, int | None]:
    """Size by path of the files that the messages name; None where nothing is there by that name."""
    found: dict[str, int | None] = {}
    for message in messages:
        text = message[:4000] + " "
        for match in [*_QUOTED.finditer(text), *_BARE.finditer(text)]:
            path = match[1].rstrip(".:")
            if path not in found and len(found) < MOST_FILES and "site-packages" not in path:
                found[path] = _size(Path(cwd) / path)
    return found


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return None
