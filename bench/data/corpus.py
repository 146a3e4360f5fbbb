"""The corpus: every clean and every damaged kind of file, written to a folder from a fixed seed.

Covers: `clean/` and `damaged/`, a folder for each kind. Does not cover: judging (`recall.py`).
"""

from __future__ import annotations

from pathlib import Path

from bench.data import clean_images, clean_others, clean_tables, clean_unread, damage_images, damage_others
from bench.data.sample import Sample

_SEED = 7


def clean() -> list[Sample]:
    """Kinds of which nothing bad may be said."""
    return [*clean_images.samples(), *clean_tables.samples(), *clean_others.samples(), *clean_unread.samples()]


def damaged() -> list[Sample]:
    """Kinds that must be found."""
    return [*damage_images.samples(), *damage_others.samples()]


def write(root: Path) -> None:
    """All files; the same bytes each time, but for the times that some formats carry."""
    for folder, samples in (("clean", clean()), ("damaged", damaged())):
        for number, sample in enumerate(samples):
            sample.write(root / folder, _SEED * 1000 + number)
