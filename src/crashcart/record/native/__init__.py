"""The native recorder: a small C library that is preloaded into the processes of a run.

Covers: where the built library is.
Does not cover: what it does (`recorder.c`, `output.c`, `crash.c`), building it (`setup.py`), or reading what it wrote
(`blackbox/output.py`, `blackbox/crashfile.py`).
"""

from __future__ import annotations

from pathlib import Path

LIBRARY_NAME = "libcrashcart_recorder.so"


def library() -> Path | None:
    """The built library, or None where it was not built (no compiler, or not Linux)."""
    path = Path(__file__).with_name(LIBRARY_NAME)
    return path if path.is_file() else None
