"""What the distributions of an environment ask of each other.

Covers: parsing Requires-Dist for the environment's own Python and system, and what is not met.
Does not cover: what really fails: a declared range is a promise, not a measurement (`_measured.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet

from crashcart.doctor._facts import parsed
from crashcart.installation import Distribution, Installation, Interpreter
from crashcart.probe.packages import canonical

_SYS_PLATFORM = {"Linux": "linux", "Darwin": "darwin", "Windows": "win32"}


@dataclass(frozen=True, slots=True)
class Demand:
    """A distribution asks for another one."""

    by: Distribution
    name: str
    requirement: Requirement

    def __str__(self) -> str:
        return f"{self.by.name} {self.by.version} asks for {self.name}{self.requirement.specifier}"


def demands(installation: Installation) -> Iterator[Demand]:
    """Every requirement that holds here, without those of extras."""
    for each in installation.distributions:
        if not each.shadowed:
            yield from demands_of(each, installation.interpreter)


@lru_cache(maxsize=4096)
def demands_of(distribution: Distribution, interpreter: Interpreter) -> tuple[Demand, ...]:
    """The requirements of one distribution that hold for this Python."""
    found = []
    for text in distribution.requires or ():
        requirement = parsed_requirement(text)
        if requirement is not None and marker_holds(requirement.marker, interpreter):
            found.append(Demand(distribution, canonical(requirement.name), requirement))
    return tuple(found)


def requirement_name(text: str) -> str:
    """The name in `numpy>=1.26`, in canonical form."""
    requirement = parsed_requirement(text)
    return canonical(requirement.name if requirement is not None else text)


def requirement_specifier(text: str) -> SpecifierSet:
    """The range in `numpy>=1.26`."""
    requirement = parsed_requirement(text)
    return requirement.specifier if requirement is not None else SpecifierSet()


def refused_by(installation: Installation, name: str, version: str) -> list[Demand]:
    """The demands that this version of a distribution does not meet."""
    return [each for each in demands(installation) if each.name == name and not meets(each.requirement, version)]


def meets(requirement: Requirement, version: str) -> bool:
    """Whether a version is in the range that is asked for; one that cannot be compared is taken to be."""
    known = parsed(version)
    return known is None or requirement.specifier.contains(known, prereleases=True)


@lru_cache(maxsize=8192)
def parsed_requirement(text: str) -> Requirement | None:
    """A requirement as metadata writes it; None where no tool can read it."""
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None  # old metadata has ranges that no tool can read any more; pip ignores them too


def marker_holds(marker: Marker | None, interpreter: Interpreter, extras: Iterable[str] = ()) -> bool:
    """Whether a marker is true for this Python, with or without one of the extras."""
    if marker is None:
        return True
    environment = {
        "python_version": interpreter.minor,
        "python_full_version": interpreter.version if interpreter.version.count(".") == 2 else f"{interpreter.minor}.0",
        "platform_system": interpreter.system,
        "sys_platform": _SYS_PLATFORM.get(interpreter.system, interpreter.system.lower()),
        "os_name": "nt" if interpreter.system == "Windows" else "posix",
        "platform_machine": interpreter.architecture or "",
        "implementation_name": interpreter.implementation,
        "platform_python_implementation": "CPython" if interpreter.implementation == "cpython" else "PyPy",
    }
    try:
        return any(marker.evaluate({**environment, "extra": extra}) for extra in ("", *extras))
    except (ValueError, KeyError):
        return False  # a marker that compares what cannot be compared
