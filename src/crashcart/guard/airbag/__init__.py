"""The airbag: a small C library that is preloaded into guarded processes.

Covers: where the built library is.
Does not cover: what it does (`airbag.h` says), building it (`setup.py`), or the budget it obeys (`guard/shared.py`).
"""

from __future__ import annotations

from pathlib import Path

LIBRARY_NAME = "libcrashcart_airbag.so"


def library() -> Path | None:
    """The built library, or None where it was not built (no compiler, or not Linux)."""
    path = Path(__file__).with_name(LIBRARY_NAME)
    return path if path.is_file() else None


def preloadable() -> Path | None:
    """The built library where the loader can be told of it: blanks and colons separate what it is told."""
    path = library()
    return None if path is None or set(" :") & set(str(path)) else path
