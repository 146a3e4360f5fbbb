"""What a pattern names: `*`, `?` and `[…]` within a name, `**` for folders of any depth.

Covers: files and folders in order of names; hidden files, which match like any other, as they do for TensorFlow; hidden
folders, which do so only where the pattern spells the dot, or on request; links to folders below `**`, followed once
each. A folder that may not be listed is handed on, so that it is told.
Does not cover: what lies in a folder that matches (`files_found.py`), patterns of addresses (`files_remote.py`).
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence

HIDDEN = "hidden folders"
LINKED = "links to folders that are looked at under their own name"
LOOPED = "links back to a folder that they lie in"
Leave = Callable[[str, str], None]
"""Takes the reason and the path of what is not looked into."""


def matched(pattern: str, hidden: bool, leave: Leave) -> Iterator[str]:
    """Every file and folder that the pattern names. All that is below a folder (`**`, `**/*`) is the folder itself."""
    parts = [each for each in pattern.split("/") if each not in ("", ".")]
    if parts[-2:] == ["**", "*"]:
        parts.pop()
    while parts and parts[-1] == "**":
        parts.pop()
    return _Matching(hidden, leave).below("/" if pattern.startswith("/") else "", parts)


def fixed_part(pattern: str) -> tuple[str, list[str]]:
    """The folder before the first part with a `*`, and the parts from there on."""
    parts = [each for each in pattern.split("/") if each not in ("", ".")]
    at = next((place for place, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    return os.path.join("/" if pattern.startswith("/") else ".", *parts[:at]), parts[at:]


def may_name(pattern: str, folder: str) -> bool:
    """Whether a pattern names the folder, one that it lies in, or what may lie in it; the folder is a real path."""
    base, parts = fixed_part(pattern)
    base = os.path.realpath(base)
    if not holds(base, folder):
        return False
    names = [each for each in folder[len(base) :].split("/") if each]
    for part, name in zip(parts, names, strict=False):
        if part == "**":
            return True
        if not fnmatch.fnmatchcase(name, part):
            return False
    return True


class _Matching:
    """A pattern on its way down."""

    def __init__(self, hidden: bool, leave: Leave) -> None:
        self._hidden = hidden
        self._leave = leave
        self._reached: list[str] = []

    def below(self, base: str, parts: Sequence[str]) -> Iterator[str]:
        """What the rest of the pattern names in this folder."""
        if not parts:
            yield base or "."
        elif parts[0] == "**":
            self._reached.append(os.path.realpath(base or "."))
            yield from self._deep(base, parts[1:])
        elif glob.has_magic(parts[0]):
            yield from self._here(base, parts[0], parts[1:])
        else:
            path = os.path.join(base, parts[0])
            if os.path.isdir(path) if len(parts) > 1 else os.path.lexists(path):
                yield from self.below(path, parts[1:])

    def _here(self, base: str, part: str, rest: Sequence[str]) -> Iterator[str]:
        fits = re.compile(fnmatch.translate(part)).match
        names = _names(base)
        if names is None:
            yield base or "."
            return
        for name in filter(fits, names):
            path = os.path.join(base, name)
            folder = os.path.isdir(path)
            if folder and not part.startswith(".") and self._is_left(name, path):
                continue
            if folder or not rest:
                yield from self.below(path, rest)

    def _deep(self, base: str, rest: Sequence[str]) -> Iterator[str]:
        """In this folder, and in all below it."""
        names = _names(base)
        if names is None:
            yield base or "."
            return
        yield from self.below(base, rest)
        for name in names:
            path = os.path.join(base, name)
            if os.path.isdir(path) and not self._is_left(name, path) and not self._is_reached(path):
                yield from self._deep(path, rest)

    def _is_left(self, name: str, path: str) -> bool:
        left = name.startswith(".") and not self._hidden
        if left:
            self._leave(HIDDEN, path)
        return left

    def _is_reached(self, path: str) -> bool:
        """Whether a link leads to where the way down comes, or came from; else it does so from now on."""
        if not os.path.islink(path):
            return False
        real = os.path.realpath(path)
        if any(holds(each, real) or holds(real, each) for each in self._reached):
            self._leave(LOOPED if leads_back(path, real) else LINKED, path)
            return True
        self._reached.append(real)
        return False


def _names(folder: str) -> list[str] | None:
    """In order; None where the folder may not be listed."""
    try:
        return sorted(os.listdir(folder or "."))
    except OSError:
        return None


def leads_back(link: str, real: str) -> bool:
    """Whether a link leads to a folder that it lies in; `real` is where it leads."""
    return holds(real, os.path.realpath(os.path.dirname(link) or "."))


def holds(folder: str, path: str) -> bool:
    """Whether the path is the folder, or lies in it; both are real paths."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
