"""Native parts of the checks of files: CRC32C, the walk over TFRecord records, the walk over JPEG data.

Covers: where the built library is.
Does not cover: what it does (`*.c`), building it (`setup.py`), or calling it (`probe/file_native.py`).
"""

from __future__ import annotations

from pathlib import Path

LIBRARY_NAME = "libcrashcart_files.so"


def library() -> Path | None:
    """The built library, or None where it was not built (no compiler, or not Linux)."""
    path = Path(__file__).with_name(LIBRARY_NAME)
    return path if path.is_file() else None
