"""What is installed in a Python environment, from its metadata on disk; nothing of it is imported.

Covers: `*.dist-info` (METADATA, INSTALLER, RECORD) and `*.egg-info` in the directories of a search path, which files of
a module are owned by whom, and what cannot be read.
Does not cover: zipped eggs, modules that were never installed, the interpreter itself (`interpreter.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from crashcart.installation import Distribution, Module
from crashcart.probe.packages import split_name

# The headers of the largest METADATA seen (a package with 200 extras) take 60 KB; the description behind them is not read.
_MOST_METADATA_BYTES = 1 << 20
# TensorFlow's RECORD has 2 MB.
_MOST_RECORD_BYTES = 32 << 20
_MOST_FILES_LOOKED_FOR = 400


@dataclass(frozen=True, slots=True)
class Found:
    """The distributions of a search path in its order, and the directories that could not be read."""

    distributions: tuple[Distribution, ...]
    unreadable: tuple[str, ...]


def read_distributions(directories: Iterable[str]) -> Found:
    """Every distribution of the directories; one that an earlier directory has too is marked as shadowed."""
    found: list[Distribution] = []
    unreadable: list[str] = []
    seen: set[str] = set()
    for directory in dict.fromkeys(directories):
        here: set[str] = set()
        for each in _in_directory(Path(directory), unreadable):
            found.append(replace(each, shadowed=each.name in seen))
            here.add(each.name)
        seen |= here
    return Found(tuple(found), tuple(unreadable))


def _in_directory(directory: Path, unreadable: list[str]) -> Iterator[Distribution]:
    try:
        entries = sorted(directory.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return  # a search path often names what is not there
    except OSError as error:
        unreadable.append(f"{directory}: {error.strerror}")
        return
    for entry in entries:
        named = split_name(entry.name)
        if named is not None:
            yield _read(entry, *named)


def _read(entry: Path, name: str, version: str) -> Distribution:
    """A distribution; where its METADATA cannot be read, the directory's name still tells which one it is."""
    file = entry / ("METADATA" if entry.suffix == ".dist-info" else "PKG-INFO") if entry.is_dir() else entry
    text, fault = _text(file)
    headers = _headers(text)
    said = next(iter(headers.get("version", ())), None)
    if fault is None and (said is None or "name" not in headers):
        fault = f"{file.name} names no {'version' if said is None else 'name'}"
    requires = tuple(headers.get("requires-dist", ())) if fault is None else None
    if entry.suffix == ".egg-info" and not requires:
        requires = _egg_requires(entry) if fault is None else None
    return Distribution(
        name=name,
        version=said or version,
        folder=str(entry.parent),
        requires=requires,
        requires_python=next(iter(headers.get("requires-python", ())), None),
        installer=(_text(entry / "INSTALLER")[0].strip() or None) if entry.is_dir() else None,
        fault=fault,
    )


def _text(file: Path) -> tuple[str, str | None]:
    try:
        with file.open("rb") as opened:
            raw = opened.read(_MOST_METADATA_BYTES)
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


def read_module(name: str, directories: Iterable[str], distributions: Iterable[Distribution]) -> Module:
    """What `import name` would find, by whom it is owned, and whether its files are there."""
    for directory in dict.fromkeys(directories):
        for file in (Path(directory, name, "__init__.py"), Path(directory, f"{name}.py")):
            if _is_file(file):
                return _owned(name, file, directory, distributions)
    return Module(name, None)


def _owned(name: str, file: Path, directory: str, distributions: Iterable[Distribution]) -> Module:
    relative = file.relative_to(directory).as_posix()
    owners: list[str] = []
    missing = 0
    for each in distributions:
        if each.folder != directory:
            continue
        files = recorded_files(each)
        if relative in files:
            owners.append(each.name)
            own = [path for path in files if path.startswith(f"{name}/") and path.endswith(".py")]
            step = max(1, len(own) // _MOST_FILES_LOOKED_FOR)
            missing += sum(not _is_file(Path(directory, path)) for path in own[::step])
    return Module(name, str(file), tuple(owners), missing)


def recorded_files(distribution: Distribution) -> list[str]:
    """The files that a distribution's RECORD lists; empty where there is no RECORD."""
    for entry in Path(distribution.folder).glob("*.dist-info"):
        named = split_name(entry.name)
        if named is not None and named[0] == distribution.name:
            return _record(entry / "RECORD")
    return []


def _record(file: Path) -> list[str]:
    try:
        with file.open("rb") as opened:
            raw = opened.read(_MOST_RECORD_BYTES)
    except OSError:
        return []
    lines = raw.decode("utf-8", "replace").splitlines()
    return [line.partition(",")[0].strip('"') for line in lines]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False
