"""Advice that depends on the words: rows of a pattern, what happened, and what to do about it.

Covers: looking through such rows. Does not cover: the rows themselves; each rule keeps its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Advice:
    """What to say where the pattern stands in the text, in any case. The words may name the pattern's groups."""

    pattern: re.Pattern[str]
    headline: str
    remedy: tuple[str, ...]


def advice(pattern: str, headline: str, *remedy: str) -> Advice:
    """Declare a row."""
    return Advice(re.compile(pattern, re.IGNORECASE), headline, remedy)


def advise(rows: tuple[Advice, ...], text: str) -> Advice:
    """The first row that fits, its words filled in from the pattern's groups. The last row must fit anything."""
    for row in rows:
        match = row.pattern.search(text)
        if match:
            groups = {name: value or "" for name, value in match.groupdict().items()}
            return Advice(
                row.pattern, row.headline.format(**groups), tuple(each.format(**groups) for each in row.remedy)
            )
    raise LookupError(f"no advice for {text[:80]!r}; the last row of a table must fit anything")
