"""What is installed in a Python environment, from its metadata on disk; nothing of it is imported.

Covers: `*.dist-info` (METADATA, INSTALLER, WHEEL, direct_url.json), `*.egg-info` and `*.egg-link` in the directories of a
search path, what conda wrote down, the remains of interrupted installations, and what cannot be read.
Does not cover: zipped eggs, modules and their files (`modules.py`), the interpreter itself (`interpreter.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from crashcart.installation import Distribution
from crashcart.probe._read import read_regular
from crashcart.probe.packages import canonical, development_name, split_name
from crashcart.redact import redact_value

# The headers of the largest METADATA seen (a package with 200 extras) take 60 KB; the description behind them is not read.
_MOST_METADATA_BYTES = 256 << 10
_MOST_ADDRESS_CHARACTERS = 300
# pip renames what it is about to replace: a tilde for the first letter, and such characters for more where that is taken.
_FOLDED_NAME = re.compile(r"~[-~.=%0-9]*(?P<rest>[A-Za-z_].*)")
_CONDA_RECORD = re.compile(r"(?P<name>.+)-(?P<version>[^-]+)-[^-]+\.json")


@dataclass(frozen=True, slots=True)
class Found:
    """The distributions of a search path in its order, and the directories that could not be read."""

    distributions: tuple[Distribution, ...]
    unreadable: tuple[str, ...]
    leftovers: tuple[str, ...] = ()


def read_distributions(directories: Iterable[str], modules: Iterable[str] = ()) -> Found:
    """Every distribution of the directories; one that an earlier directory has too is marked as shadowed.

    `modules` are names to know the remains of, also where nothing else of them is left.
    """
    found: list[Distribution] = []
    unreadable: list[str] = []
    leftovers: list[str] = []
    seen: set[str] = set()
    for directory in dict.fromkeys(directories):
        entries = _entries(Path(directory), unreadable)
        here = list(_in_directory(entries))
        found.extend(replace(each, shadowed=each.name in seen) for each in here)
        leftovers.extend(map(str, _leftovers(entries, modules)))
        seen.update(each.name for each in here)
        linked = [each for each in _linked(entries) if each.name not in seen]
        found.extend(linked)
        seen.update(each.name for each in linked)
    return Found(tuple(_once(found)), tuple(unreadable), tuple(leftovers))


def read_conda(prefix: str | None) -> dict[str, str] | None:
    """The versions in `conda-meta`, by the names of its files alone; None where it is no conda environment."""
    try:
        names = [each.name for each in Path(prefix or "", "conda-meta").iterdir()] if prefix else []
    except OSError:
        return None
    matches = filter(None, map(_CONDA_RECORD.fullmatch, names))
    return {canonical(each["name"]): each["version"] for each in matches} or None


def _leftovers(entries: list[Path], modules: Iterable[str]) -> Iterator[Path]:
    """What pip renamed and did not come to delete.

    Only where packages are installed, and only what is the rest of a name that is known there: everything else that begins
    with a tilde is the user's.
    """
    folded = [(entry, match) for entry in entries if (match := _FOLDED_NAME.fullmatch(entry.name))]
    if not folded or folded[0][0].parent.name not in ("site-packages", "dist-packages"):
        return
    names = {*modules, *(entry.name for entry in entries if not entry.name.startswith("~"))}
    for said in filter(None, (split_name(_unfolded(entry)) for entry in entries)):
        names |= {said[0], said[0].replace("-", "_")}
    for entry, match in folded:
        known = any(len(each) == len(entry.name) and each.endswith(match["rest"]) for each in names)
        if known or (entry.suffix == ".dist-info" and split_name(_unfolded(entry))):
            yield entry


def _unfolded(entry: Path) -> str:
    """Its name with a letter for the tilde."""
    return entry.name.replace("~", "x", 1) if entry.name.startswith("~") else entry.name


def _linked(entries: Iterable[Path]) -> Iterator[Distribution]:
    """What `setup.py develop` left a link to: its first line names the folder of the source."""
    for entry in entries:
        name = development_name(entry.name) if entry.suffix == ".egg-link" else None
        if name is None:
            continue
        said = _text(entry)[0].partition("\n")[0].strip().replace("\0", "")
        source = Path(entry.parent, said)
        beside = [each for each in _entries(source, []) if said and each.suffix == ".egg-info"]
        found = next((each for each in beside if (_name_and_version(each) or ("",))[0] == name), None)
        yield (
            _read(found, name, "") if found is not None else Distribution(name, None, str(source), origin=said or None)
        )


def _once(found: Iterable[Distribution]) -> Iterator[Distribution]:
    """Without those that both a link and the search path lead to."""
    seen = set[tuple[str, str]]()
    for each in found:
        if not each.entry or (each.folder, each.entry) not in seen:
            yield each
        seen.add((each.folder, each.entry))


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
    named = [(entry, _name_and_version(entry)) for entry in entries]
    known = [(entry, name) for entry, name in named if name is not None]
    names = [name for _, (name, _) in known]
    if len(set(names)) < len(names):
        known.sort(key=lambda pair: (pair[1][0], -_modified_s(pair[0])))
    for entry, (name, version) in known:
        yield _read(entry, name, version)


def _name_and_version(entry: Path) -> tuple[str, str] | None:
    """Of an entry beside a source folder, the name alone: its version is inside."""
    said = split_name(entry.name)
    alone = development_name(entry.name) if said is None and entry.suffix == ".egg-info" else None
    return said if alone is None else (alone, "")


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
        version=said or version or None,
        folder=str(entry.parent),
        requires=_requires(entry, headers) if fault is None else None,
        requires_python=next(iter(headers.get("requires-python", ())), None),
        installer=(_text(entry / "INSTALLER")[0].strip()[:40] or None) if folder else None,
        fault=fault,
        entry=entry.name,
        origin=_origin(entry) if folder else None,
        tags=_tags(entry) if folder else (),
    )


def _origin(entry: Path) -> str | None:
    """Where it was installed from, without passwords (PEP 610); without a readable address, the file's own name: no index gave it
    all the same."""
    if entry.suffix == ".egg-info":
        return None if split_name(entry.name) else str(entry.parent)
    file = entry / "direct_url.json"
    text, fault = _text(file)
    if fault is not None:
        return None
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        said = None
    url = said.get("url") if isinstance(said, dict) else None
    if not isinstance(url, str) or not url:
        return file.name
    vcs = said.get("vcs_info")
    kind, commit = (vcs.get("vcs"), vcs.get("commit_id")) if isinstance(vcs, dict) else (None, None)
    return redact_value(f"{kind}+{url}@{commit}" if kind and commit else url[:_MOST_ADDRESS_CHARACTERS])


def _tags(entry: Path) -> tuple[str, ...]:
    return tuple(_headers(_text(entry / "WHEEL")[0]).get("tag", ()))


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
