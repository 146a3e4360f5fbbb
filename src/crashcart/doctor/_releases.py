"""The releases that a remedy may name: which exist for a Python, and what they declare.

Covers: `facts/remedies.json` and TensorFlow's own releases. Does not cover: every release there is; `tools/refresh_remedies.py`
says which were asked for, and asks again.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from crashcart.doctor._facts import RELEASED_NAMES, TENSORFLOW_NAMES, declared, facts, minor_of, parsed
from crashcart.installation import Interpreter


def releases(name: str, interpreter: Interpreter) -> tuple[str, ...]:
    """The known releases with a wheel for this Python, newest first."""
    known = _tensorflow() if name in RELEASED_NAMES else facts("remedies").get(name, {})
    fitting = (each for each, entry in known.items() if _has_wheel(entry["pythons"], interpreter.minor))
    return tuple(sorted(fitting, key=Version, reverse=True))


def matching(name: str, specifier: str, interpreter: Interpreter) -> tuple[str, ...]:
    """Those of them that are in a range."""
    try:
        wanted = SpecifierSet(specifier)
    except InvalidSpecifier:
        return ()
    return tuple(each for each in releases(name, interpreter) if wanted.contains(each, prereleases=True))


def nearest(versions: Iterable[str], current: str | None) -> tuple[str, ...]:
    """The newest of the major version that is there, then of those that are near it: the smallest upheaval first."""
    there = parsed(current)
    newest_first = sorted(versions, key=Version, reverse=True)
    if there is None:
        return tuple(newest_first)
    return tuple(sorted(newest_first, key=lambda each: abs(Version(each).major - there.major)))


def requires_of(name: str, version: str) -> tuple[str, ...] | None:
    """What a release declares; None where it is not known."""
    if name in TENSORFLOW_NAMES:
        return declared(version)
    entry = facts("remedies").get(name, {}).get(version)
    return tuple(entry["requires"]) if entry else None


def _has_wheel(pythons: list[str], minor: str) -> bool:
    """A Python that is newer than all that were asked for is taken to be served as the newest of them."""
    return minor in pythons or (bool(pythons) and Version(minor) > Version("3.13") and "3.13" in pythons)


@cache
def _tensorflow() -> dict[str, Any]:
    known = facts("tensorflow")
    return {each: {"pythons": known["minors"].get(minor_of(each), {}).get("pythons", [])} for each in known["releases"]}
