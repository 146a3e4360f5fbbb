"""What is known of TensorFlow's releases, read from the files in `facts/`.

Covers: what a release declares, what it was built for, and what was measured when other versions were put beside it.
Does not cover: judging. The files say where each fact comes from; `docs/doctor.md` says how they are refreshed.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from packaging.version import InvalidVersion, Version

TENSORFLOW_NAMES = (
    "tensorflow",
    "tensorflow-cpu",
    "tensorflow-gpu",
    "tensorflow-intel",
    "tensorflow-macos",
    "tensorflow-cpu-aws",
    "tensorflow-rocm",
    "intel-tensorflow",
    "tf-nightly",
    "tf-nightly-cpu",
)
"""The distributions that bring the module `tensorflow`."""
RELEASED_NAMES = ("tensorflow", "tensorflow-cpu")
"""Those of them that have every release; of the others, some were never made."""


@cache
def facts(name: str) -> Any:
    """One of the files."""
    return json.loads(resources.files("crashcart.doctor").joinpath("facts", f"{name}.json").read_text(encoding="utf-8"))


def parsed(version: str | None) -> Version | None:
    """A version that can be compared; None where there is none."""
    try:
        return Version(version) if version else None
    except InvalidVersion:
        return None


def minor_of(version: str | None) -> str | None:
    """2.15.0.post1 as 2.15."""
    known = parsed(version)
    return f"{known.major}.{known.minor}" if known is not None else None


def build(version: str | None) -> dict[str, Any] | None:
    """What the wheels of this minor version were built for; None for a version that is not known."""
    found: dict[str, Any] | None = facts("tensorflow")["minors"].get(minor_of(version))
    return found


def declared(version: str | None) -> tuple[str, ...] | None:
    """The Requires-Dist of a release; of an unknown patch release, that of the latest known one of its minor version."""
    releases = facts("tensorflow")["releases"]
    wanted, minor = parsed(version), minor_of(version)
    if wanted is None:
        return None
    if version in releases:
        return tuple(releases[version]["requires"])
    same = [each for each in releases if minor_of(each) == minor]
    return tuple(releases[max(same, key=Version)]["requires"]) if same else None


def same_module(name: str) -> frozenset[str]:
    """The distributions that bring the same module as this one, and it among them."""
    if name in TENSORFLOW_NAMES:
        return frozenset(TENSORFLOW_NAMES)
    groups: list[list[str]] = facts("requirements")["same_module"]
    return frozenset({name}.union(*(group for group in groups if name in group)))
