"""Files whose content is the same, found without holding all files in memory.

Covers: files of one size and one mark; the full digest of those alone, to make sure; groups that lie in several parts
of the data set (train and test); groups of text or of a few bytes, which say nothing by that. All of it is asked of the state
on disk.
Does not cover: pictures that merely look alike.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from itertools import groupby

from crashcart.data.engine import Executor, chunks
from crashcart.data.state import State, mark_of
from crashcart.data.tally import MOST_EXAMPLES
from crashcart.probe.file_magic import TEXTS
from crashcart.probe.files_found import Found, look
from crashcart.survey import Duplicates, Example, SameContent

_MOST_GROUPS = 5
_SPLITS = re.compile(
    r"(?:^|[/_.-])(train|training|val|valid|validation|dev|test|testing|eval|holdout)(?=[/_.-]|$)", re.I
)
_SAME_SPLIT = {
    "training": "train",
    "valid": "val",
    "validation": "val",
    "dev": "val",
    "testing": "test",
    "eval": "test",
}
_SIMILAR = (
    "SELECT bytes, digest FROM files WHERE run = ? AND digest IS NOT NULL AND bytes > 0"
    " GROUP BY bytes, digest HAVING count(*) > 1"
)
_DOUBTFUL = (
    "SELECT path, mark FROM files WHERE run = ? AND (whole IS NULL OR whole = '') AND (bytes, digest) IN similar"
)
_TABLES = """
DROP TABLE IF EXISTS temp.similar;
DROP TABLE IF EXISTS temp.doubtful;
CREATE TEMP TABLE similar (bytes INTEGER, digest TEXT, PRIMARY KEY (bytes, digest)) WITHOUT ROWID;
CREATE TEMP TABLE doubtful (path BLOB, mark BLOB);
"""
# An empty digest: it was the same at the first look, and could not be read again. The next run tries anew.
_UNREAD = ""
# What holds labels and notes: they are alike in train and test without being one example twice. A table may hold examples, or a
# list of names; its copies are told as well, and accuse nobody.
_PLAIN = TEXTS | {"html", None}
# An empty mask of 256 x 256 takes 88 to 141 bytes as PNG, a written digit of 28 x 28 about 300.
_FEW_BYTES = 256


def duplicates(state: State, executor: Executor, found_of: Callable[[str], Found] = look) -> Duplicates:
    """All groups of the same content. The executor does the job `chunk.DIGEST`; `found_of` finds a file again by its
    path.
    """
    state.commit()
    database = state.database
    database.executescript(_TABLES)
    database.execute(f"INSERT INTO similar {_SIMILAR}", (state.run,))
    database.execute(f"INSERT INTO doubtful {_DOUBTFUL}", (state.run,))
    doubtful = (found_of(os.fsdecode(row[0])) for row in database.execute("SELECT path FROM doubtful ORDER BY mark"))
    for chunk in chunks(doubtful):
        while executor.full:
            _note(state, executor)
        executor.submit(chunk)
    while executor.busy:
        _note(state, executor)
    return _counted(_groups(state))


def copies(state: State) -> Iterator[tuple[str, int, str]]:
    """Each file whose content is that of another, with its size and the first of these; after `duplicates`."""
    for (count_bytes, whole), files in _groups(state):
        first, _ = next(files)
        if whole != _UNREAD:
            yield from ((path, count_bytes, first) for path, _ in files)


def _note(state: State, executor: Executor) -> None:
    state.database.executemany(
        "UPDATE files SET whole = ? WHERE mark = ?",
        ((each.digest or _UNREAD, mark_of(each.path)) for each in executor.wait()),
    )


Group = tuple[tuple[int, str], Iterator[tuple[str, str | None]]]


def _groups(state: State) -> Iterator[Group]:
    """Size and full digest with the paths, and formats, that share them, in order; the largest files first. A group may have any
    length.
    """
    rows = state.database.execute(
        "SELECT path, bytes, whole, format FROM files WHERE run = ? AND whole IS NOT NULL"
        " AND (bytes, digest) IN similar ORDER BY bytes DESC, whole, mark",
        (state.run,),
    )
    for (count_bytes, whole), group in groupby(rows, key=lambda row: (row[1], row[2])):
        yield (count_bytes, whole), ((os.fsdecode(row[0]), row[3]) for row in group)


def _counted(groups: Iterator[Group]) -> Duplicates:
    total, spare_files, spare_bytes, leaking, unread, plain = 0, 0, 0, 0, 0, 0
    kept: list[SameContent] = []
    for (count_bytes, whole), files in groups:
        same = _same(files, count_bytes)
        if whole == _UNREAD:
            unread += same.files
        elif same.files > 1:
            total += 1
            spare_files += same.files - 1
            spare_bytes += (same.files - 1) * count_bytes
            leaking += _leaks(same)
            plain += same.plain
            kept = sorted([*kept, same], key=_weight)[:_MOST_GROUPS]
    return Duplicates(total, spare_files, spare_bytes, leaking, tuple(kept), unread, plain)


def _same(members: Iterator[tuple[str, str | None]], count_bytes: int) -> SameContent:
    """The first few; where they lie in several parts of the data set, the first of each part."""
    files, plain = 0, True
    first: list[str] = []
    splits: dict[str, str] = {}
    for path, form in members:
        files += 1
        plain = plain and (form in _PLAIN or count_bytes < _FEW_BYTES)
        if len(first) < MOST_EXAMPLES:
            first.append(path)
        if (split := split_of(path)) is not None:
            splits.setdefault(split, path)
    across = len(splits) > 1
    examples = tuple(Example(path) for path in (sorted(splits.values()) if across else first)[:MOST_EXAMPLES])
    return SameContent(count_bytes, files, examples, tuple(sorted(splits)) if across else (), plain)


def _leaks(same: SameContent) -> bool:
    """Whether an example is in one part of the data set and in another."""
    return len(same.splits) > 1 and not same.plain


def _weight(same: SameContent) -> tuple[bool, bool, int, tuple[Example, ...]]:
    """What lies in train and test tells most; then pictures and records before text; then what is there most often."""
    return not _leaks(same), same.plain, -same.files, same.examples


def split_of(path: str) -> str | None:
    """The part of the data set that a file belongs to, where its path says so: train, val or test."""
    found = _SPLITS.findall(path)
    if not found:
        return None
    name = str(found[-1]).lower()
    return _SAME_SPLIT.get(name, name)
