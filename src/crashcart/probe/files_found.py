"""Finds the files of a data set: folders walked, globs, lists of names, addresses elsewhere.

Covers: folders of any depth and width, in order of names, without ever holding more than the names of the folders on
the way; links to files; links to folders outside (followed once each); circles of links; names of any bytes; folders
that may not be listed. What is not looked into is counted and named (`Aside`), never dropped.
Does not cover: how files elsewhere are listed (`files_remote.py`), or opening any file (`file_check.py`). A file named
twice is found twice: the state of the run tells them (`data/state.py`)."""

from __future__ import annotations

import glob
import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from crashcart.errors import UsageError
from crashcart.probe.file_source import LocalFile
from crashcart.probe.files_listed import names_in
from crashcart.probe.files_matched import HIDDEN, LINKED, LOOPED, holds, leads_back, matched
from crashcart.probe.files_remote import find_remote, is_remote, local_path, look_remote, refuse_what_is_not_there
from crashcart.sound import Fault, Source

WITHIN = "folders that lie in another one that was named"
EXPECTED = "Name a folder, a file, a pattern in quotes, or @list.txt."
_MOST_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Found:
    """A file that was found, and what the file system says of it."""

    source: Source
    bytes: int | None = None
    modified_ns: int | None = None
    fault: Fault | None = None
    """Known without opening it, where it is no file that a check could look at: a folder that may not be listed…"""
    changed_ns: int | None = None
    """When the content, the name or the rights last changed. Nobody can set it: a copy has another, with the same size
    and time of modification."""


@dataclass
class Aside:
    """What was not looked into, by reason: how many, and the first few by name."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, path: str) -> None:
        """Count one."""
        self.counts[reason] += 1
        named = self.examples.setdefault(reason, [])
        if len(named) < _MOST_EXAMPLES:
            named.append(path)


def find(paths: Sequence[str], aside: Aside, hidden: bool = False) -> Iterator[Found]:
    """Every file that the paths name. UsageError, before anything is walked, for a path that cannot be meant."""
    paths = [path if os.path.lexists(path) else local_path(path) for path in paths]
    for path in paths:
        _refuse_what_is_not_meant(path, hidden)
    return _found(paths, aside, hidden)


def _refuse_what_is_not_meant(path: str, hidden: bool) -> None:
    """Typing errors are told at once, and not as damage of the data."""
    if not path:
        raise UsageError("received an empty path", EXPECTED)
    if os.path.lexists(path):
        return
    if path.startswith("@"):
        if path != "@-" and not os.path.exists(path[1:]):
            raise UsageError(
                f"there is no list {path[1:]}", "As in: crashcart data @list.txt, with a name on each line."
            )
    elif is_remote(path):
        refuse_what_is_not_there(path)
    elif glob.has_magic(path):
        _refuse_a_pattern_without_a_match(path, hidden)
    else:
        raise UsageError(f"there is no {path}", f"Looked in {os.path.dirname(os.path.abspath(path))}. {EXPECTED}")


def _refuse_a_pattern_without_a_match(path: str, hidden: bool) -> None:
    """What matches hidden folders alone is meant; that they are left out is told by the run."""
    left = Aside()
    if next(matched(path, hidden, left.add), None) is None and not left.counts:
        raise UsageError(f"nothing matches {path}", "Look for a typing error. In a shell, a pattern stands in quotes.")


def _found(paths: Sequence[str], aside: Aside, hidden: bool) -> Iterator[Found]:
    walk = _Walk([each for each in paths if os.path.isdir(each)], aside, hidden)
    for place, path in enumerate(paths):
        if _within_another(path, place, paths, hidden):
            aside.add(WITHIN, path)
        elif os.path.lexists(path):
            yield from walk.below(path)
        elif path.startswith("@"):
            yield from (look(local_path(each)) for each in names_in(path[1:]))
        elif is_remote(path):
            yield from (Found(*each) for each in find_remote(path))
        else:
            for each in matched(path, hidden, aside.add):
                yield from walk.below(each)


def _within_another(path: str, place: int, paths: Sequence[str], hidden: bool) -> bool:
    """Whether a folder is looked at anyway, since another that was named holds it; under whatever name."""
    if not os.path.isdir(path):
        return False
    real = os.path.realpath(path)
    for at, each in enumerate(paths):
        other = os.path.realpath(each) if at != place and os.path.isdir(each) else None
        if other is not None and _reaches(other, real, hidden) and (other != real or at < place):
            return True
    return False


def look(path: str) -> Found:
    """One file by its name; nothing is opened."""
    try:
        if not path.isascii():
            os.fsencode(path)
        found = os.stat(path)
    except UnicodeEncodeError:
        return _unspeakable(path)
    except (OSError, ValueError):
        return Found(*look_remote(path)) if is_remote(path) else Found(LocalFile(path))
    if stat.S_ISREG(found.st_mode):
        return Found(LocalFile(path), found.st_size, found.st_mtime_ns, changed_ns=found.st_ctime_ns)
    return Found(LocalFile(path))


def _unspeakable(path: str) -> Found:
    r"""A name out of a list in JSON that no file can have (`\ud800`, half of a character), in letters that can be shown."""
    spelled = path.encode("ascii", "backslashreplace").decode("ascii")
    told = "half a character (a lone surrogate) is in the name; no file has such a name"
    return Found(LocalFile(spelled), fault=Fault("missing", told))


@dataclass
class _Level:
    """A folder on the way down: what is left of it."""

    path: str
    prefix: str
    """The same with a slash at its end."""
    names: list[str]
    """In reverse order: the next one is the last."""
    folders: frozenset[str]
    links: frozenset[str]


class _Walk:
    """Goes down folder by folder. A link is followed to a folder that would not be reached otherwise, once."""

    def __init__(self, roots: Sequence[str], aside: Aside, hidden: bool) -> None:
        self._aside = aside
        self._hidden = hidden
        self._reached = [os.path.realpath(root) for root in roots]

    def below(self, root: str) -> Iterator[Found]:
        """The file by this name, or all files below the folder by this name."""
        if not os.path.isdir(root):
            yield look(root)
            return
        levels = list(self._opened(root))
        yield from self._refused(root, levels)
        while levels:
            level = levels[-1]
            if not level.names:
                levels.pop()
                continue
            name = level.names.pop()
            path = level.prefix + name
            if self._is_folder(level, name, path):
                yield from self._entered(level, name, path, levels)
            else:
                yield look(path)

    def _is_folder(self, level: _Level, name: str, path: str) -> bool:
        return name in level.folders or (name in level.links and os.path.isdir(path))

    def _entered(self, level: _Level, name: str, path: str, levels: list[_Level]) -> Iterator[Found]:
        """Put a folder on the way, unless it is hidden, a circle, or reached by itself."""
        if name.startswith(".") and not self._hidden:
            if os.path.realpath(path) not in self._reached:  # else it was named, and is looked at by itself
                self._aside.add(HIDDEN, path)
            return
        if name in level.links:
            real = os.path.realpath(path)
            if leads_back(path, real):
                self._aside.add(LOOPED, path)
                return
            if any(_reaches(each, real, self._hidden) for each in self._reached):
                self._aside.add(LINKED, path)
                return
            self._reached.append(real)
        opened = list(self._opened(path))
        levels += opened
        yield from self._refused(path, opened)

    def _opened(self, path: str) -> Iterator[_Level]:
        """The folder, listed; nothing where that is refused."""
        names, folders, links = [], set(), set()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    names.append(entry.name)
                    if entry.is_symlink():
                        links.add(entry.name)
                    elif entry.is_dir(follow_symlinks=False):
                        folders.add(entry.name)
        except OSError as error:
            self._error = error
            return
        names.sort(reverse=True)
        yield _Level(path, os.path.join(path, ""), names, frozenset(folders), frozenset(links))

    def _refused(self, path: str, opened: list[_Level]) -> Iterator[Found]:
        if not opened:
            told = f"the folder cannot be listed: {self._error.strerror}; nobody knows what is in it"
            yield Found(LocalFile(path), fault=Fault("unreadable", told))


def _reaches(folder: str, path: str, hidden: bool) -> bool:
    """Whether the walk down the folder comes to the path; both are real paths."""
    if not holds(folder, path):
        return False
    return hidden or not any(name.startswith(".") for name in path[len(folder) :].split("/"))
