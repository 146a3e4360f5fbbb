"""What is known of the files, on disk: so that a run goes on where another ended, and memory does not grow with the
data set.

Covers: one row for each file, by its absolute path, size, times of change and what was wanted; each file of a run
claimed once and recorded once, however often and under whatever spelling it is found or reported; lists in order of
path, with the paths as they were typed. Names are kept as bytes, whatever they are.
Does not cover: judging. One run at a time uses a state; it is locked meanwhile. A damaged state is put aside and
begun anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from hashlib import blake2b
from itertools import count
from pathlib import Path

from crashcart.errors import CannotCheckError
from crashcart.probe import files_found
from crashcart.probe.file_lacking import versions
from crashcart.probe.files_found import Found
from crashcart.probe.files_remote import is_remote
from crashcart.probe.native_files import library
from crashcart.sound import JSON, ODD, Checked, Fault, Wanted

SUFFIX = ".sqlite"
_VERSION = 4
_APPLICATION = 0x63726461  # "crda"
_HEAD_BYTES = 100
_COMMIT_S = 1.0
_MOST_TEXTS = 1024
# Pages that SQLite keeps in memory, in KiB. Files come in order of path: few pages are in use at any time.
_CACHE_KIB = 16 * 1024
_SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
  mark BLOB PRIMARY KEY, path BLOB, bytes INTEGER, modified_ns INTEGER, changed_ns INTEGER, wanted TEXT, run INTEGER NOT NULL,
  format TEXT, digest TEXT, whole TEXT, damaged INTEGER, good INTEGER, faults TEXT, facts TEXT
) WITHOUT ROWID;
"""
_CHECKED = "path, bytes, modified_ns, format, digest, faults, facts"
_KEEP = (
    "REPLACE INTO files"
    " (mark, path, bytes, modified_ns, changed_ns, wanted, run, format, digest, damaged, good, faults, facts)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_PASSING = frozenset((
    "missing", "dangling-link", "link-loop", "not-a-file", "unreadable", "not-checked", "no-library", "not-fetched",
    "decoder-crashed", "too-slow", "too-large",
))  # fmt: skip
"""Faults that may be gone though the file has not changed: permissions, libraries, memory, a busy machine. Looked at
again.
"""


class State:
    """The rows of a data set, open for one run."""

    def __init__(self, database: sqlite3.Connection, words: Sequence[str], wanted: Wanted) -> None:
        self._database = database
        self._wanted = wanted_mark(wanted)
        # What was read as a whole is good enough for a quick look; the other way round it is not.
        self._enough = {self._wanted, wanted_mark(replace(wanted, quick=False))} if wanted.quick else {self._wanted}
        self.words = tuple(words)
        """What the user should know of how it was opened."""
        self.repeated = 0
        """Files that were named more than once."""
        self.known = 0
        """Files that need not be read again."""
        self._gap = False
        last = database.execute("SELECT max(run) FROM files").fetchone()[0]
        self._run = (last or 0) + 1
        self._began_s: float | None = None
        self._open: dict[bytes, Found] = {}
        self._marks: dict[str, bytes] = {}  # of these, as they are spelled
        self._texts: dict[tuple[object, ...], str] = {}
        self._last_facts: Mapping[str, JSON] | None = None  # the files of a message share what they have in common
        self._last_text = ""

    @classmethod
    def open(cls, path: Path, wanted: Wanted, fresh: bool = False, ours: bool = False) -> State:
        """The state in this file, made where there is none; `fresh` forgets what it holds. CannotCheckError where
        that fails, or where the file is somebody else's; `ours` says that it cannot be (it lies in our cache).
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            return cls(*_opened(path, fresh, ours), wanted)
        except (OSError, sqlite3.Error) as error:
            raise _unusable(path, error) from error

    @classmethod
    def passing(cls, wanted: Wanted) -> State:
        """One that is gone with the run. It lies on disk as well: SQLite spills what its cache does not hold."""
        return cls(_prepared(sqlite3.connect("", isolation_level=None)), (), wanted)

    def claim(self, found: Sequence[Found]) -> tuple[list[Found], list[Checked]]:
        """Those that have to be checked, and what is known of the others. What was claimed in this run before is neither."""
        self._begin()
        self._gap = self._gap or any(each.fault is not None and each.fault.weight != ODD for each in found)
        marks = {mark_of(each.source.path): each for each in reversed(found)}  # the first spelling stays
        self.repeated += len(found) - len(marks)
        rows = {row[0]: row for row in self._rows(list(marks))}
        unknown, known = [], []
        for mark, each in reversed(marks.items()):
            row = rows.get(mark)
            if mark in self._open or (row is not None and row[1] == self._run):
                self.repeated += 1
            elif row is not None and (checked := self._still_true(each, row)) is not None:
                known.append((mark, checked))
            else:
                unknown.append(each)
                self._open[mark] = each
                self._marks[each.source.path] = mark
        self._database.executemany(
            "UPDATE files SET run = ?, path = ? WHERE mark = ?",
            [(self._run, os.fsencode(checked.path), mark) for mark, checked in known],
        )
        self.known += len(known)
        told = self.record(_without_check(each) for each in unknown if each.fault is not None)
        return [each for each in unknown if each.fault is None], [*(checked for _, checked in known), *told]

    def _rows(self, marks: Sequence[bytes]) -> list[tuple[object, ...]]:
        holes = ",".join("?" * len(marks))
        query = f"SELECT mark, run, wanted, changed_ns, {_CHECKED} FROM files WHERE mark IN ({holes})"
        return self._database.execute(query, marks).fetchall()

    def _still_true(self, found: Found, row: Sequence[object]) -> Checked | None:
        """What the row says, where it says it of this very file."""
        _, _, wanted, changed_ns, *rest = row
        unsure = found.fault is not None or found.bytes is None or found.modified_ns is None
        same = (found.bytes, found.modified_ns, found.changed_ns) == (rest[1], rest[2], changed_ns)
        if unsure or wanted not in self._enough or not same:
            return None
        checked = replace(_checked(rest), path=found.source.path)
        return None if any(each.kind in _PASSING for each in checked.faults) else checked

    def record(self, checked: Iterable[Checked]) -> list[Checked]:
        """Keep what was learnt; those that were claimed in this run, and not recorded before."""
        self._begin()
        new, rows = [], []
        for each in checked:
            mark = self._marks.pop(each.path, None) or mark_of(each.path)
            found = self._open.pop(mark, None)
            if found is not None:
                new.append(each)
                rows.append(self._row(mark, found, each))
        self._database.executemany(_KEEP, rows)
        return new

    def _row(self, mark: bytes, found: Found, checked: Checked) -> tuple[object, ...]:
        """The size and time are those of the claim: a file that changed after it was found is looked at again next time."""
        faults = facts = None
        damaged, good = 0, 1  # as numbers: SQLite's module looks for a way to adapt anything else, row by row
        if checked.faults:
            faults = json.dumps([each.to_json() for each in checked.faults])
            damaged, good = int(checked.damaged), int(checked.good)
        if checked.facts:
            facts = self._text_of(checked.facts)
        return (
            mark, name_bytes(found.source.path), checked.bytes if found.bytes is None else found.bytes,
            found.modified_ns, found.changed_ns, self._wanted, self._run,
            checked.format, checked.digest, damaged, good, faults, facts,
        )  # fmt: skip

    def _text_of(self, facts: Mapping[str, JSON]) -> str:
        """As JSON. Files of a data set are much alike, and making the same text again takes longer than to look it up."""
        if facts is self._last_facts:
            return self._last_text
        self._last_text = self._looked_up(facts)
        self._last_facts = facts
        return self._last_text

    def _looked_up(self, facts: Mapping[str, JSON]) -> str:
        try:
            key = tuple(facts.items())
            known = self._texts.get(key)
        except TypeError:  # lists and further mappings
            return json.dumps(dict(facts))
        if known is None:
            known = json.dumps(dict(facts))
            if len(self._texts) < _MOST_TEXTS:
                self._texts[key] = known
        return known

    def _begin(self) -> None:
        """Rows are written in few large transactions: a run that is killed loses a second of its work."""
        now_s = time.monotonic()
        if self._began_s is not None and now_s - self._began_s > _COMMIT_S:
            self.commit()
        if self._began_s is None:
            self._database.execute("BEGIN")
            self._began_s = now_s

    def commit(self) -> None:
        """Have all that was recorded on disk."""
        if self._began_s is not None:
            self._database.execute("COMMIT")
            self._began_s = None

    def pending(self) -> int:
        """How many files were claimed and not recorded."""
        return len(self._open)

    def all(self, condition: str = "1") -> Iterator[Checked]:
        """What was learnt of each file of this run, in order of path."""
        query = f"SELECT {_CHECKED} FROM files WHERE run = ? AND {condition} ORDER BY mark"
        return (_checked(row) for row in self._database.execute(query, (self._run,)))

    def faulty(self) -> Iterator[Checked]:
        """Those with any fault."""
        return self.all("faults IS NOT NULL")

    def good_paths(self) -> Iterator[str]:
        """Those that were checked as a whole and that training can read."""
        query = "SELECT path FROM files WHERE run = ? AND good ORDER BY mark"
        return (os.fsdecode(row[0]) for row in self._database.execute(query, (self._run,)))

    def damaged_files(self) -> Iterator[Checked]:
        """Those that training would fail on."""
        return self.all("damaged")

    def forget_what_is_gone(self) -> None:
        """Drop the rows that this run, which was whole, did not meet. None, where a folder or a store could not be listed
        to its end: what was not met may be there all the same.
        """
        if not self._gap:
            self._begin()
            self._database.execute("DELETE FROM files WHERE run <> ?", (self._run,))

    @property
    def database(self) -> sqlite3.Connection:
        """For the questions that are asked over all rows (`duplicates.py`)."""
        return self._database

    @property
    def run(self) -> int:
        """The number of this run."""
        return self._run

    def close(self) -> None:
        """Commit, and let others in."""
        with contextlib.suppress(sqlite3.Error):
            self.commit()
        self._database.close()


def mark_of(path: str) -> bytes:
    """By what a file is known, however it is spelled and from wherever: its absolute path; an address as it is."""
    if path.startswith("/") and "//" not in path and "/." not in path and path[-1] != "/":
        return name_bytes(path)
    if is_remote(path):
        return os.fsencode(path)
    if ".." in path:  # after a link to a folder, `..` is not where it came from
        folder, name = os.path.split(path)
        path = os.path.realpath(path) if name == ".." else os.path.join(os.path.realpath(folder), name)
    return os.fsencode(os.path.abspath(path))


def name_bytes(path: str) -> bytes:
    """The name as the file system has it."""
    return path.encode() if path.isascii() else os.fsencode(path)


def wanted_mark(wanted: Wanted) -> str:
    """What was wanted, and by which checks, native parts and libraries: results of others are not taken for these."""
    given = json.dumps([asdict(wanted), _checks_mark()], sort_keys=True).encode()
    return blake2b(given, digest_size=8).hexdigest()


@cache
def _checks_mark() -> str:
    """Of the checks, which do not change while a process runs."""
    mark = blake2b(json.dumps(versions(), sort_keys=True).encode(), digest_size=8)
    for each in sorted(Path(files_found.__file__).parent.glob("file_*.py")):
        mark.update(each.read_bytes())
    native = library()
    if native is not None:
        mark.update(native.read_bytes())
    return mark.hexdigest()


def _without_check(found: Found) -> Checked:
    assert found.fault is not None
    return Checked(found.source.path, found.bytes, found.modified_ns, faults=(found.fault,))


def _checked(row: Sequence[object]) -> Checked:
    path, count_bytes, modified_ns, form, digest, faults, facts = row
    told = tuple(Fault.from_json(each) for each in json.loads(str(faults))) if faults else ()
    known = json.loads(str(facts)) if facts else {}
    return Checked(os.fsdecode(path), count_bytes, modified_ns, form, digest, told, known)  # type: ignore[arg-type]


def _opened(path: Path, fresh: bool, ours: bool) -> tuple[sqlite3.Connection, tuple[str, ...]]:
    """The database, and what should be said about it."""
    if not ours and not _may_be_ours(path):
        raise CannotCheckError(
            f"{path} is no state of crashcart", f"Name another file, or a new one: --state NAME{SUFFIX}."
        )
    words: tuple[str, ...] = ()
    try:
        database = _connected(path)
    except sqlite3.OperationalError:  # locked, no room, no permission: nothing is wrong with the file
        raise
    except sqlite3.DatabaseError as error:
        aside = _put_aside(path)
        words = (f"{path} is damaged ({error}); it is kept as {aside.name}, and all files are checked anew",)
        database = _connected(path)
    if fresh:
        database.execute("DELETE FROM files")
    return database, words


def _may_be_ours(path: Path) -> bool:
    """Whether the file bears our mark, or holds nothing. One that was named by mistake is neither changed nor put aside."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except FileNotFoundError:
        return True
    if not head:
        return True
    mark = int.from_bytes(head[68:72], "big")
    return head[:16] == b"SQLite format 3\0" and (mark == _APPLICATION or (mark == 0 and _is_begun(path)))


def _is_begun(path: Path) -> bool:
    """Whether a database without a mark holds nothing, or has ours in its log: a run was killed as it began."""
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0.5)
    try:
        if database.execute("PRAGMA application_id").fetchone()[0] == _APPLICATION:
            return True
        return database.execute("SELECT 1 FROM sqlite_master").fetchone() is None
    except sqlite3.OperationalError:  # locked, no permission
        raise
    except sqlite3.DatabaseError:
        return False
    finally:
        database.close()


def _connected(path: Path) -> sqlite3.Connection:
    new = not path.exists()
    database = sqlite3.connect(path, timeout=0.5, isolation_level=None)
    try:
        if new:
            path.chmod(0o600)
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("PRAGMA journal_mode = WAL")
        if database.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise sqlite3.DatabaseError("its pages do not fit together")
        return _prepared(database)
    except BaseException:
        database.close()
        raise


def _prepared(database: sqlite3.Connection) -> sqlite3.Connection:
    for setting in ("synchronous = NORMAL", f"cache_size = -{_CACHE_KIB}", "temp_store = FILE"):
        database.execute(f"PRAGMA {setting}")
    if database.execute("PRAGMA user_version").fetchone()[0] not in (0, _VERSION):
        database.execute("DROP TABLE IF EXISTS files")
    database.executescript(_SCHEMA)
    database.execute(f"PRAGMA application_id = {_APPLICATION}")
    database.execute(f"PRAGMA user_version = {_VERSION}")
    return database


def _put_aside(path: Path) -> Path:
    number = next(number for number in count(1) if not path.with_name(f"{path.name}.damaged-{number}").exists())
    aside = path.with_name(f"{path.name}.damaged-{number}")
    path.rename(aside)
    for end in ("-wal", "-shm"):
        beside = path.with_name(path.name + end)
        if beside.exists():
            beside.rename(aside.with_name(aside.name + end))
    return aside


def _unusable(path: Path, error: Exception) -> CannotCheckError:
    if "locked" in str(error):
        return CannotCheckError(f"another run is using {path}", "Wait for its end, or name another file: --state FILE.")
    return CannotCheckError(f"cannot keep the state in {path}: {error}", "Name another file: --state FILE.")
