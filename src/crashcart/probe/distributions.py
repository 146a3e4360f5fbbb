"""What is installed in a Python environment, from its metadata on disk; nothing of it is imported.

Covers: `*.dist-info` (METADATA, INSTALLER) and `*.egg-info` in the directories of a search path, what conda wrote down, the
remains of interrupted installations, and what cannot be read.
Does not cover: zipped eggs, modules and their files (`modules.py`), the interpreter itself (`interpreter.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from crashcart.installation import Distribution
from crashcart.probe._read import read_regular
from crashcart.probe.packages import canonical, split_name

# The headers of the largest METADATA seen (a package with 200 extras) take 60 KB; the description behind them is not read.
_MOST_METADATA_BYTES = 256 << 10
_FOLDED_NAME = re.compile(r"~.+")
_CONDA_RECORD = re.compile(r"(?P<name>.+)-(?P<version>[^-]+)-[^-]+\.json")


@dataclass(frozen=True, slots=True)
class Found:
    """The distributions of a search path in its order, and the directories that could not be read."""

    distributions: tuple[Distribution, ...]
    unreadable: tuple[str, ...]
    leftovers: tuple[str, ...] = ()


def read_distributions(directories: Iterable[str]) -> Found:
    """Every distribution of the directories; one that an earlier directory has too is marked as shadowed."""
    found: list[Distribution] = []
    unreadable: list[str] = []
    leftovers: list[str] = []
    seen: set[str] = set()
    for directory in dict.fromkeys(directories):
        entries = _entries(Path(directory), unreadable)
        here = list(_in_directory(entries))
        found.extend(replace(each, shadowed=each.name in seen) for each in here)
        leftovers.extend(str(each) for each in entries if _FOLDED_NAME.fullmatch(each.name))
        seen.update(each.name for each in here)
    return Found(tuple(found), tuple(unreadable), tuple(leftovers))


def read_conda(prefix: str | None) -> dict[str, str] | None:
    """The versions in `conda-meta`, by the names of its files alone; None where it is no conda environment."""
    try:
        names = [each.name for each in Path(prefix or "", "conda-meta").iterdir()] if prefix else []
    except OSError:
        return None
    matches = filter(None, map(_CONDA_RECORD.fullmatch, names))
    return {canonical(each["name"]): each["version"] for each in matches} or None


def _entries(directory: Path, unreadable: list[str]) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []  # a search path often names what is not there
    except OSError as error:
        unreadable.append(f"{directory}: {error.strerror}")
        return []


def _in_directory(entries: Iterable[Path]) -> Iterator[Distribution]:
    """The distributions of one directory; of two with one name, the one that was written later comes first."""
    named = [(entry, split_name(entry.name)) for entry in entries]
    known = [(entry, name) for entry, name in named if name is not None]
    names = [name for _, (name, _) in known]
    if len(set(names)) < len(names):
        known.sort(key=lambda pair: (pair[1][0], -_modified_s(pair[0])))
    for entry, (name, version) in known:
        yield _read(entry, name, version)


def _modified_s(entry: Path) -> float:
    try:
        return entry.stat().st_mtime
    except OSError:
        return 0.0


def _read(entry: Path, name: str, version: str) -> Distribution:
    """A distribution; where its METADATA cannot be read, the directory's name still tells which one it is."""
    folder = _is_directory(entry)
    file = entry / ("METADATA" if entry.suffix == ".dist-info" else "PKG-INFO") if folder else entry
    text, fault = _text(file)
    headers = _headers(text)
    said = next(iter(headers.get("version", ())), None)
    if fault is None and (not said or not headers.get("name")):
        fault = f"{file.name} names no {'name' if said else 'version'}"
    return Distribution(
        name=name,
        version=said or version,
        folder=str(entry.parent),
        requires=_requires(entry, headers) if fault is None else None,
        requires_python=next(iter(headers.get("requires-python", ())), None),
        installer=(_text(entry / "INSTALLER")[0].strip()[:40] or None) if folder else None,
        fault=fault,
        entry=entry.name,
    )


def _requires(entry: Path, headers: dict[str, list[str]]) -> tuple[str, ...]:
    said = tuple(headers.get("requires-dist", ()))
    return said or (_egg_requires(entry) if entry.suffix == ".egg-info" else ())


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _text(file: Path) -> tuple[str, str | None]:
    try:
        raw = read_regular(file, _MOST_METADATA_BYTES)
    except OSError as error:
        return "", f"{file.name} cannot be read: {error.strerror}"
    return raw.decode("utf-8", "replace"), None


def _headers(text: str) -> dict[str, list[str]]:
    """The headers before the first empty line, by lower-case name; folded lines are not used by the ones we need."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if not line.strip():
            break
        key, colon, value = line.partition(":")
        if colon and not line[0].isspace():
            found.setdefault(key.strip().lower(), []).append(value.strip())
    return found


def _egg_requires(entry: Path) -> tuple[str, ...]:
    """The requirements without a section in `requires.txt`: those with one belong to extras."""
    plain = _text(entry / "requires.txt")[0].partition("[")[0]
    return tuple(line.strip() for line in plain.splitlines() if line.strip())
