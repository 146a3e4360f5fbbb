"""The figures of `crashcart fit` that other programs read, at the top level of the JSON document.

Covers: names and units as in docs/schema-1.json; what is not known is null. Fields are added, never renamed.
Does not cover: the document around them (`report/json.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from crashcart.step import Moment, StepPeak

_MOST_MOMENTS = 60
"""Of the picture: a document is read by programs, and a step of a large model has thousands."""


def figures(step: StepPeak) -> dict[str, Any]:
    """All of them."""
    host = step.host
    return {
        "device_peak_bytes": step.peak_bytes,
        "low_bytes": step.low_bytes,
        "high_bytes": step.high_bytes,
        "host_peak_bytes": None if host is None else host.bytes,
        "host_low_bytes": None if host is None else host.low_bytes,
        "host_high_bytes": None if host is None else host.high_bytes,
        "largest_batch": step.largest_batch,
        "larger_may_fit": step.larger_may_fit,
        "likely_batch": step.likely_batch,
        "batches": {"power_of_two": step.round_batch, "divisor": step.even_batch},
        "seconds": step.seconds,
        "search_seconds": step.search_seconds,
        "available_bytes": step.available_bytes,
        "available_in": step.available_in,
        "target": step.target,
        "fits": step.fits,
        "phase": step.phase,
        "batch": step.batch,
        "method": step.method,
        "methods": dict(step.methods),
        "kinds": dict(step.kinds),
        "at": step.at,
        "place": step.places.get(step.at),
        "largest": [
            {"name": each.name, "kind": each.kind, "bytes": each.bytes, "place": step.places.get(each.name)}
            for each in step.largest
        ],
        "remedies": step.remedies,
        "verified": step.verified,
        "runs": step.runs,
        "assumed": step.assumed,
        "moments": thinned(step.moments, _MOST_MOMENTS),
    }


def thinned(moments: Sequence[Moment], most: int) -> list[Moment]:
    """At most so many, evenly, with the highest of each stretch."""
    if len(moments) <= most:
        return list(moments)
    edges = [len(moments) * index // most for index in range(most + 1)]
    return [max(moments[first:last], key=lambda each: sum(each.held.values())) for first, last in pairwise(edges)]
