"""A group of patterns that state one kind of failure, and how to look through a table of them.

Covers: matching folded text. Does not cover: the words themselves (`_wordings.py`, `_wordings_code.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from crashcart.why._said import Force, Kind, Said


@dataclass(frozen=True, slots=True)
class Wording:
    """Patterns for one kind. `types` limits them to exceptions of these names, `raised` to exceptions at all."""

    kind: Kind | None
    force: Force
    patterns: tuple[re.Pattern[str], ...]
    types: frozenset[str] | None = None
    raised: bool = False

    def states(self, said: Said) -> bool:
        """Whether one of the patterns stands in what was said."""
        if self.types is not None and said.type not in self.types:
            return False
        if self.raised and not said.type:
            return False
        return any(pattern.search(said.folded) for pattern in self.patterns)


def wording(
    kind: Kind | None, force: Force, *patterns: str, types: Iterable[str] | None = None, raised: bool = False
) -> Wording:
    """Declare patterns (lower case) that state a kind."""
    return Wording(kind, force, tuple(map(re.compile, patterns)), frozenset(types) if types else None, raised)


def look_up(table: tuple[Wording, ...], said: Said) -> tuple[Kind, Force] | None:
    """The first kind in the table that the words state."""
    for each in table:
        if each.kind is not None and each.states(said):
            return each.kind, each.force
    return None
