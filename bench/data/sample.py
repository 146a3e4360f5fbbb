"""What the corpus is made of: a kind of file, how it is written, and what should be said of it.

Covers: the type that `clean_*.py` and `damage_*.py` fill, and writing all copies of one to a folder.
Does not cover: judging (`recall.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

Make = Callable[[Path, int], None]
"""Writes one file of this name, from a seed."""


@dataclass(frozen=True)
class Sample:
    """One kind of file."""

    name: str
    family: str
    extension: str
    make: Make
    kinds: frozenset[str] = frozenset()
    """Damaged: any of these is the right name for it. Clean: empty."""
    odd: frozenset[str] = frozenset()
    """Clean, and something may rightly be called odd about it."""
    unread: bool = False
    """Clean, and of a kind that no library here reads: right is to say that it was not checked."""
    copies: int = 4
    images: bool = False
    """Others that look at images alone are asked, too."""

    def paths(self, root: Path) -> Iterator[Path]:
        """The files, in a folder of their own."""
        folder = root / re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")
        return (folder / f"{number:02}{self.extension}" for number in range(self.copies))

    def write(self, root: Path, seed: int) -> None:
        """All copies, each from a seed of its own."""
        for number, path in enumerate(self.paths(root)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            self.make(path, seed * 100 + number)


def damage(family: str, name: str, extension: str, kinds: str, make: Make, images: bool = False) -> Sample:
    """A damaged kind; `kinds` are the right names for it, between blanks."""
    return Sample(name, family, extension, make, frozenset(kinds.split()), images=images)


def clean(family: str, name: str, extension: str, make: Make, odd: str = "", images: bool = False) -> Sample:
    """A clean kind."""
    return Sample(name, family, extension, make, odd=frozenset(odd.split()), images=images)


def of_bytes(content: Callable[[int], bytes]) -> Make:
    """A writer from what gives the bytes."""
    return lambda path, seed: _written(path, content(seed))


def _written(path: Path, data: bytes) -> None:
    path.write_bytes(data)
