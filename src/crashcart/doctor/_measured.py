"""What happened when another version of NumPy or protobuf was put beside a TensorFlow release.

Covers: looking up, and reading between, the measured points: each is one real run (import, training, saving) of an
official wheel. Does not cover: what the releases declare, which is narrower and wider than what works (`_facts.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from packaging.version import Version

from crashcart.doctor._facts import facts, minor_of, parsed


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a version does beside a TensorFlow release."""

    works: bool
    point: str
    """The measured version that says so."""
    exact: bool
    """Whether the very minor version was measured; otherwise the measured neighbours agree."""
    after: str | None = None
    """Where it fails: None at the import, else the last thing that still worked."""
    error: str | None = None


def measured(tensorflow: str | None, package: str, version: str | None) -> Outcome | None:
    """The outcome, or None where the measurements do not say.

    A minor version behaves as its measured patch release. Between two measured ones that agree, it is as they are; beyond
    the last one that fails, newer ones fail too (what was removed does not come back); beyond the last one that works,
    nothing is known.
    """
    wanted = parsed(version)
    points: dict[str, Any] = facts("measured").get(package, {}).get(minor_of(tensorflow), {})
    if wanted is None or not points:
        return None
    for each in sorted(points, key=Version):
        if (Version(each).major, Version(each).minor) == (wanted.major, wanted.minor):
            return _outcome(each, points[each], exact=True)
    below = [each for each in points if Version(each) < wanted]
    above = [each for each in points if Version(each) > wanted]
    lower = max(below, key=Version, default=None)
    upper = min(above, key=Version, default=None)
    if lower is not None and (
        points[lower]["ok"] is False if upper is None else points[lower]["ok"] == points[upper]["ok"]
    ):
        return _outcome(lower, points[lower], exact=False)
    return None


def working(tensorflow: str | None, package: str) -> tuple[str, ...]:
    """The versions that were measured to work, newest first."""
    points: dict[str, Any] = facts("measured").get(package, {}).get(minor_of(tensorflow), {})
    return tuple(sorted((each for each in points if points[each]["ok"]), key=Version, reverse=True))


def _outcome(point: str, entry: dict[str, Any], exact: bool) -> Outcome:
    return Outcome(entry["ok"], point, exact, entry.get("after"), entry.get("error"))
