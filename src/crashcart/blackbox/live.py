"""A recording that is still being written, read cheaply and often.

Covers: the last sample, use of memory over time in a bounded number of points, the last steps of the guard. Reading the
last sample takes 1.6 ms of a full ring (measured; most of it checks the records): only what is asked for is parsed.
Does not cover: anything that a verdict needs (`read.py`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from crashcart.blackbox.codec import from_plain
from crashcart.blackbox.ring import ForeignFileError, read_payloads
from crashcart.evidence import Event, Sample

_OF_GUARD = b'"kind":"guard"'


@dataclass(frozen=True, slots=True)
class Point:
    """Use of memory at one moment."""

    at_s: float
    used_bytes: int


def last_sample(folder: Path) -> Sample | None:
    """The newest sample; None where there is none yet, or none can be read."""
    return next((sample for sample in map(_sample, reversed(_payloads(folder / "samples.ring"))) if sample), None)


def use_over_time(folder: Path, most_points: int) -> list[Point]:
    """Use of memory over the whole run, oldest first, thinned to `most_points`; the newest sample is always there."""
    payloads = [*_payloads(folder / "history.ring"), *_payloads(folder / "samples.ring")]
    found = {point.at_s: point for point in map(_point, payloads) if point is not None}
    return thinned([found[at_s] for at_s in sorted(found)], most_points)


def guard_events(folder: Path, most: int) -> list[Event]:
    """The last steps of the guard, oldest first."""
    payloads = (payload for payload in reversed(_payloads(folder / "events.ring")) if _OF_GUARD in payload)
    return [event for event in map(_event, islice(payloads, most)) if event is not None][::-1]


def thinned(points: list[Point], most: int) -> list[Point]:
    """At most `most` of the points: of each stretch of time its peak, and the last point in any case."""
    if len(points) <= most:
        return points
    first_s, span_s = points[0].at_s, points[-1].at_s - points[0].at_s
    peaks: dict[int, Point] = {}
    for point in points[:-1]:
        stretch = min(most - 2, int((point.at_s - first_s) / span_s * (most - 1)))
        if stretch not in peaks or point.used_bytes > peaks[stretch].used_bytes:
            peaks[stretch] = point
    return [*(peaks[stretch] for stretch in sorted(peaks)), points[-1]]


def _payloads(path: Path) -> list[bytes]:
    try:
        return read_payloads(path.read_bytes())
    except (OSError, ForeignFileError):
        return []


def _record(payload: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(payload)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _sample(payload: bytes) -> Sample | None:
    try:
        return from_plain(Sample, _record(payload))
    except (TypeError, ValueError):
        return None


def _point(payload: bytes) -> Point | None:
    record = _record(payload) or {}
    at_s, used_bytes = record.get("at_s"), record.get("used_bytes")
    if not isinstance(at_s, (int, float)) or not isinstance(used_bytes, int):
        return None
    return Point(float(at_s), used_bytes)


def _event(payload: bytes) -> Event | None:
    try:
        return from_plain(Event, _record(payload))
    except (TypeError, ValueError):
        return None
