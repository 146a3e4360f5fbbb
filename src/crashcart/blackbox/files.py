"""The files of a recording as plain records, whatever state their writers left them in.

Covers: JSON documents and rings of them. Does not cover: what the records mean (`read.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crashcart.blackbox.ring import ForeignFileError, read_payloads

Record = dict[str, Any]


def read_json(path: Path) -> Record | None:
    """The object in a file; None where there is none, or none that can be read."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def read_ring(path: Path) -> Iterator[Record]:
    """The objects in a ring, in order; none where it is no ring."""
    try:
        payloads = read_payloads(path.read_bytes())
    except (OSError, ForeignFileError):
        return
    for payload in payloads:
        record = json.loads(payload)
        if isinstance(record, dict):
            yield record
