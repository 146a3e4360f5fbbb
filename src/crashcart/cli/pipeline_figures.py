"""The figures of `crashcart pipeline` that other programs read, at the top level of the JSON document.

Covers: names and units as in docs/schema-1.json; what is not known is null. Fields are added, never renamed.
Does not cover: the document around them (`report/json.py`).
"""

from __future__ import annotations

from typing import Any

from crashcart.stages import PipelineMemory


def figures(memory: PipelineMemory) -> dict[str, Any]:
    """All of them."""
    return {
        "held_bytes": memory.held_bytes,
        "high_bytes": memory.high_bytes,
        "built_bytes": memory.built_bytes,
        "available_bytes": memory.available_bytes,
        "available_in": memory.available_in,
        "fits": memory.fits,
        "fill_seconds": memory.fill_s,
        "stages": [
            {
                "name": each.label,
                "stage": each.name,
                "kind": each.kind,
                "bytes": each.bytes,
                "high_bytes": each.high_bytes,
                "element_bytes": each.element_bytes,
                "count": each.count,
                "depth": each.depth,
            }
            for each in memory.rows
        ],
        "unknown": list(memory.unknown),
        "changes": [
            {"how": each.how, "held_bytes": each.held_bytes, "high_bytes": each.high_bytes, "note": each.note}
            for each in memory.changes
        ],
        "assumed": list(memory.assumed),
        "seconds": memory.seconds,
    }
