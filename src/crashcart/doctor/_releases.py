"""The releases that a remedy may name: which of them have a wheel for a Python, and what they declare.

Covers: the choice in `facts/remedies.json`, and TensorFlow's own releases. The measured ones of NumPy and protobuf; of the
others, those that the records name as good, and one of each minor version where a minor version belongs to one of TensorFlow's.
Does not cover: what the index says of them (`_index.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from crashcart.doctor._facts import RELEASED_NAMES, TENSORFLOW_NAMES, declared, facts, parsed
from crashcart.doctor._index import pythons_of, requires
from crashcart.installation import Interpreter


def releases(name: str, interpreter: Interpreter) -> tuple[str, ...]:
    """Those with a wheel for this Python, newest first."""
    fitting = (each for each in _named(name) if interpreter.minor in pythons_of(name, each))
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
    """What a release declares, as far as it matters here; None where it is not known."""
    if name in TENSORFLOW_NAMES:
        return declared(version)
    return requires(name, version) if version in _named(name) else None


def _named(name: str) -> Iterable[str]:
    known: Iterable[str] = (
        facts("tensorflow")["releases"] if name in RELEASED_NAMES else facts("remedies").get(name, ())
    )
    return known
