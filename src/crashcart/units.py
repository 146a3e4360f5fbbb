"""Sizes, durations and counts as words, and back.

Covers: bytes and seconds for people (`report/`, messages), sizes typed by people (`4G`, `512 MiB`).
Does not cover: any rounding inside the program; inside, bytes are integers and seconds are floats.
"""

from __future__ import annotations

import re

KIB = 1024
MIB = 1024**2
GIB = 1024**3

_UNITS = (("TiB", 1024**4), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB))
_SIZE = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(i?b?)?\s*$", re.IGNORECASE)
_POWERS = {"": 1, "k": KIB, "m": MIB, "g": GIB, "t": 1024**4}


def size(count_bytes: int) -> str:
    """Say a number of bytes the way people compare them: `2.24 GiB`, `98 MiB`, `512 B`."""
    for unit, factor in _UNITS:
        if abs(count_bytes) >= factor:
            value = count_bytes / factor
            digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
            return f"{value:.{digits}f} {unit}"
    return f"{count_bytes} B"


def duration(seconds: float) -> str:
    """Say a duration with as many digits as matter: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 120:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def parse_size(text: str) -> int:
    """Read a size as people type it; binary units throughout (`4G` is 4 GiB)."""
    match = _SIZE.match(text)
    if match is None:
        raise ValueError(f"received the size {text!r}; expected a number with an optional unit, such as 512M or 4G")
    number, unit, _ = match.groups()
    return int(float(number) * _POWERS[unit.lower()])


def plural(count: int, noun: str, plural_noun: str | None = None) -> str:
    """`1 thread`, `3 threads`, `2 processes`."""
    return f"{count} {noun if count == 1 else plural_noun or noun + 's'}"
