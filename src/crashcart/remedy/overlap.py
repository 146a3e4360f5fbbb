"""Whether a place for results is one that inputs are still read from.

Covers: arrays that share memory, and files (paths, memory maps) that are the same, also under another name.
Does not cover: tensors, whose memory cannot be written to from here.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from crashcart.errors import UsageError


def refuse_overlap(outs: Iterable[Any], inputs: Iterable[Any]) -> None:
    """UsageError where results would be written over what is still to be read."""
    read = list(inputs)
    for out in outs:
        for each in read:
            if out is not None and _overlap(out, each):
                named = out if isinstance(out, (str, Path)) else "an array"
                raise UsageError(
                    f"out= is {named}, which an input is read from: the first results would destroy it",
                    "Give another path or array.",
                )


def _overlap(out: Any, given: Any) -> bool:
    import numpy as np

    if not isinstance(given, np.ndarray):
        return False
    if isinstance(out, np.ndarray) and np.may_share_memory(out, given):
        return True
    (file, map_of_out), (read, map_of_read) = _file(out), _file(given)
    if file is None or read is None or (map_of_out is not None and map_of_out is map_of_read):
        return False
    try:
        return Path(file).samefile(read)
    except OSError:  # one of them is not there yet
        return False


def _file(array: Any) -> tuple[Any, Any]:
    """The file behind a path or an array, and the memory map it is read through; a view's is that of its base."""
    if isinstance(array, (str, Path)):
        return array, None
    name = None
    while array is not None and hasattr(array, "base"):
        name = getattr(array, "filename", None) or name
        array = array.base
    return name, array if name is not None else None
