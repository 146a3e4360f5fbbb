"""Which releases there are, for which Pythons they have wheels, and what they ask for, from `facts/releases.json`.

Covers: the packages that decide whether a TensorFlow can be installed; final releases, wheels for Linux on x86-64.
Does not cover: releases later than the file (`tools/refresh-facts` renews it), and packages that it does not name.
"""

from __future__ import annotations

from functools import cache, lru_cache

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from crashcart.doctor._facts import TENSORFLOW_NAMES, declared, facts, minor_of, parsed


def pythons() -> tuple[str, ...]:
    """The Pythons that the index was asked for."""
    return tuple(facts("releases")["pythons"])


def is_known(name: str) -> bool:
    """Whether the releases of a package are known."""
    return name in facts("releases")["packages"]


@cache
def releases(name: str) -> tuple[Version, ...]:
    """All releases, newest first."""
    known = facts("releases")["packages"].get(name, {}).get("releases", {})
    return tuple(sorted(map(Version, known), reverse=True))


@cache
def pythons_of(name: str, version: str) -> tuple[str, ...]:
    """The Pythons that a release has a wheel for; empty where it is not known."""
    said = facts("releases")["packages"].get(name, {}).get("releases", {}).get(version, "")
    return tuple(python for run in said.split() for python in _run(run))


@lru_cache(maxsize=4096)
def allowed(name: str, specifier: str) -> int:
    """The releases in a range, as bits: the lowest is the newest release."""
    wanted = SpecifierSet(specifier)
    return sum(1 << index for index, each in enumerate(releases(name)) if wanted.contains(each))


@cache
def with_wheel(name: str, python: str) -> int:
    """The releases with a wheel for a Python, as bits."""
    return sum(1 << index for index, each in enumerate(releases(name)) if python in pythons_of(name, str(each)))


def chosen(name: str, bits: int) -> list[str]:
    """The releases that bits stand for, newest first."""
    return [str(each) for index, each in enumerate(releases(name)) if bits >> index & 1]


@lru_cache(maxsize=4096)
def requires(name: str, version: str | None) -> tuple[str, ...]:
    """What a release asks for, as far as it is known: of another patch release, where that one was not read."""
    if name in TENSORFLOW_NAMES:
        return declared(version) or ()
    asked: dict[str, list[str]] = facts("releases")["packages"].get(name, {}).get("requires", {})
    if version in asked:
        return tuple(asked[version])
    same = [each for each in asked if minor_of(each) == minor_of(version)]
    known = parsed(version)
    if not same and known is not None and asked and known > max(map(Version, asked)):
        same = [max(asked, key=Version)]
    return tuple(asked[same[0]]) if same else ()


def _run(said: str) -> list[str]:
    """`3.9-3.12` as its four Pythons."""
    first, _, last = said.partition("-")
    return [f"3.{minor}" for minor in range(int(first[2:]), int((last or first)[2:]) + 1)]
