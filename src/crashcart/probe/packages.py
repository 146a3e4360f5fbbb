"""Which distributions are installed, by the names of their directories alone.

Covers: `NAME-VERSION.dist-info` and `NAME-VERSION[-pyX.Y].egg-info` in the given directories.
Does not cover: metadata (dependencies, files), zipped eggs, the version of packages without one in their name (a development
install beside its source), and modules that were never installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_DIST_INFO = re.compile(r"(?P<name>[A-Za-z0-9].*)-(?P<version>[^-]+)\.dist-info")
_EGG_INFO = re.compile(r"(?P<name>[A-Za-z0-9].*?)-(?P<version>[0-9][^-]*)(?:-py[0-9.]+.*)?\.egg-info")
_UNVERSIONED = re.compile(r"(?P<name>[A-Za-z0-9].*)\.egg-(?:info|link)")
_SEPARATORS = re.compile(r"[-_.]+")


def canonical(name: str) -> str:
    """A distribution's name as all tools compare it: lower case, single dashes."""
    return _SEPARATORS.sub("-", name).lower()


def split_name(entry: str) -> tuple[str, str] | None:
    """Canonical name and version of a metadata directory by its name; None where it is none."""
    match = _DIST_INFO.fullmatch(entry) or _EGG_INFO.fullmatch(entry)
    return None if match is None else (canonical(match["name"]), match["version"])


def development_name(entry: str) -> str | None:
    """Canonical name of what `setup.py develop` writes: `NAME.egg-info` beside the source, `NAME.egg-link` to it."""
    match = None if split_name(entry) else _UNVERSIONED.fullmatch(entry)
    return None if match is None else canonical(match["name"])


def installed(directories: Iterable[str]) -> dict[str, str]:
    """Version by canonical name; of two directories that both have a distribution, the first wins, as in an import."""
    found: dict[str, str] = {}
    for directory in directories:
        for name, version in _in_directory(Path(directory)).items():
            found.setdefault(name, version)
    return found


def _in_directory(directory: Path) -> dict[str, str]:
    found: dict[str, Path] = {}
    versions: dict[str, str] = {}
    for entry in _entries(directory):
        named = split_name(entry.name)
        if named is None:
            continue
        name, version = named
        # An upgrade that broke off leaves two entries; the files that lie there are those of the later one.
        if name not in found or _modified_s(entry) > _modified_s(found[name]):
            found[name] = entry
            versions[name] = version
    return versions


def _entries(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except OSError:
        return []


def _modified_s(entry: Path) -> float:
    try:
        return entry.stat().st_mtime
    except OSError:
        return 0.0
