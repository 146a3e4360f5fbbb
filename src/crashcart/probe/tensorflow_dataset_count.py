"""How many records the files of a dataset have, where TensorFlow cannot tell: by the bytes of the files and of some records.

Covers: TFRecord and text files that are given by name, read as they are (without compression).
Does not cover: files that a function opens and maps, other formats; their number stays unknown.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crashcart.stages import INFINITE, Stage

_AROUND_BYTES = {"tfrecord": 16, "text_line": 1}
"""What a file has besides each record: TFRecord's length and two checksums, the end of a line."""
_MOST_FILES = 20_000


def format_of(stage: Stage) -> str | None:
    """The kind of files, tfrecord or text_line, where the stage gives out the plain records of such files; else None."""
    inner = stage.function.dataset if stage.function is not None else None
    while inner is not None and inner.name == "flat_map" and inner.function is not None:
        inner = inner.function.dataset
    known = inner is not None and inner.name in _AROUND_BYTES and not inner.words.get("compression_type")
    return inner.name if known and inner is not None and stage.spec == "string[]" else None


def estimated_count(stage: Stage, names: Any, records: list[int]) -> int | None:
    """About how many records there are: `names` gives the files' names as tensors, `records` has lengths of some records."""
    kind = format_of(stage)
    if kind is None or not records or stage.input is None or stage.input.cardinality in (None, INFINITE):
        return None
    total = 0
    for index, name in enumerate(names):
        if index >= _MOST_FILES:
            return None
        try:
            total += Path(name.numpy().decode("utf-8", "surrogateescape")).stat().st_size
        except (OSError, AttributeError, UnicodeDecodeError):
            return None
    mean = sum(records) / len(records) + _AROUND_BYTES[kind]
    return round(total / mean)
