"""Moves damaged files out of the way. Nothing is ever deleted, and every move can be undone.

Covers: a rename where that can be done; else a copy that is on disk before the original goes; the place below the
folder that the file was found in is kept; nothing is overwritten; each move is written to a list before it is made. A file
that cannot be moved stays, and costs no other.
Does not cover: which files (`state.py`), moving back (`quarantine_undo.py`). Links are moved as links. What is no file (a
folder that may not be listed, a device) stays.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from crashcart.errors import UsageError
from crashcart.probe.files_matched import fixed_part, holds, may_name
from crashcart.probe.files_remote import is_remote, local_path
from crashcart.sound import DAMAGE, Checked

_MOST_NAMED = 100
_BESIDE = ".crashcart-"
_NOT_ITS_FAULT = frozenset(("unreadable", "missing", "not-a-file"))
UNDO = "moved.jsonl"
"""The list of moves, in the folder of the quarantine."""


@dataclass
class Moved:
    """What was done."""

    files: int = 0
    stayed_files: int = 0
    stayed: list[tuple[str, str]] = field(default_factory=list)
    """The first of those that could not be moved, and why."""

    def leave(self, path: str, reason: str) -> None:
        """Count one that stays."""
        self.stayed_files += 1
        if len(self.stayed) < _MOST_NAMED:
            self.stayed.append((path, reason))


class Quarantine:
    """A folder for damaged files."""

    def __init__(self, folder: str, paths: Sequence[str]) -> None:
        """UsageError where the folder lies among the data: it would be checked, and trained on, as well."""
        self._folder = os.path.abspath(folder)
        if os.path.lexists(folder) and not os.path.isdir(folder):
            raise UsageError(f"the quarantine {folder} is no folder", "Name a folder, or a name that nobody has.")
        named = [each if os.path.lexists(each) else local_path(each) for each in paths]
        inside = next((each for each in named if _is_among(os.path.realpath(folder), each)), None)
        if inside is not None:
            raise UsageError(f"the quarantine {folder} lies in {inside}, which is checked", "Name a folder beside it.")
        roots = (root for root in map(_root, named) if root is not None)
        self._roots = sorted(map(os.path.abspath, roots), key=len, reverse=True)

    def move(self, damaged: Iterable[Checked]) -> Moved:
        """Move the files; what cannot be moved, or is not damaged itself, stays, and is told."""
        done = Moved()
        try:
            os.makedirs(self._folder, exist_ok=True)
            undo = open(os.path.join(self._folder, UNDO), "a+b", buffering=0)  # noqa: SIM115 (closed below)
        except OSError as error:
            for each in damaged:
                done.leave(each.path, f"cannot write to {self._folder}: {words_of(error)}")
            return done
        with undo:
            for each in damaged:
                self._move_one(each, undo, done)
        return done

    def _move_one(self, damaged: Checked, undo: BinaryIO, done: Moved) -> None:
        reason = _why_not(damaged)
        if reason is None:
            try:
                self._take(damaged.path, undo)
            except OSError as error:
                reason = words_of(error)
        if reason is None:
            done.files += 1
        else:
            done.leave(damaged.path, reason)

    def _take(self, path: str, undo: BinaryIO) -> None:
        target = self._free(self._place(path))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        was, now = os.path.abspath(path), os.path.relpath(target, self._folder)
        _note(undo, {"from": was, "to": now})
        try:
            move_file(path, target)
        except OSError:
            if not os.path.lexists(target):
                with contextlib.suppress(OSError):  # without this line the file is looked for where it never came
                    _note(undo, {"from": was, "to": now, "moved": False})
            raise

    def _place(self, path: str) -> str:
        """`images/a/b.jpg` of `images/` becomes `a/b.jpg`; a file from elsewhere keeps its whole path."""
        whole = os.path.abspath(path)
        root = next((each for each in self._roots if whole.startswith(each.rstrip("/") + "/")), "/")
        return os.path.join(self._folder, os.path.relpath(whole, root))

    def _free(self, target: str) -> str:
        """The target, or the next name that is not taken; several roots may have a file of one name."""
        if not os.path.lexists(target) and target != os.path.join(self._folder, UNDO):
            return target
        stem, dot, end = os.path.basename(target).rpartition(".")
        folder, name = os.path.dirname(target), (stem or end)
        number = 2
        while os.path.lexists(free := os.path.join(folder, f"{name}-{number}{dot}{end if stem else ''}")):
            number += 1
        return free


def _root(path: str) -> str | None:
    """The folder that a path names, or the one before the first `*` of a pattern; a file keeps its whole path."""
    if os.path.lexists(path):
        return path if os.path.isdir(path) else None
    if path.startswith("@") or is_remote(path) or not glob.has_magic(path):
        return None
    return fixed_part(path)[0]


def _is_among(folder: str, path: str) -> bool:
    """Whether what lies in the folder would be checked, too; the folder is a real path."""
    root = _root(path)
    if root is None:
        return False
    return holds(os.path.realpath(root), folder) if os.path.lexists(path) else may_name(path, folder)


def words_of(error: OSError) -> str:
    """What failed, and at what."""
    told = error.strerror or str(error)
    return told if error.filename is None else f"{told}: {os.fsdecode(error.filename)}"


def _why_not(damaged: Checked) -> str | None:
    """Why a file is left where it is; None where it is moved."""
    if is_remote(damaged.path):
        return "it is not on this machine"
    try:
        found = os.lstat(damaged.path)
    except OSError as error:
        return error.strerror or str(error)
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)):
        return "it is no file"
    if all(each.kind in _NOT_ITS_FAULT for each in damaged.faults if each.weight == DAMAGE):
        return "it could not be read, so nobody knows whether it is damaged"
    return "it has changed since it was checked" if _has_changed(damaged) else None


def _has_changed(damaged: Checked) -> bool:
    """Whether the file, or the one that a link leads to, has another size or time than the one that was checked."""
    try:
        now = os.stat(damaged.path)
    except OSError:  # a link to nothing, as it was told
        return False
    if not stat.S_ISREG(now.st_mode):
        return False
    known = ((damaged.bytes, now.st_size), (damaged.modified_ns, now.st_mtime_ns))
    return any(before is not None and before != after for before, after in known)


def _note(undo: BinaryIO, move: dict[str, object]) -> None:
    """From where, and to where in the quarantine, which may itself be moved later."""
    _end_a_torn_line(undo)
    line = json.dumps(move).encode("ascii") + b"\n"
    if undo.write(line) < len(line):
        raise OSError(errno.ENOSPC, "no room for the list of the moves")


def _end_a_torn_line(undo: BinaryIO) -> None:
    """What a run that was killed, or a full disk, left half written must not take the next line with it."""
    if undo.seek(0, os.SEEK_END):
        undo.seek(-1, os.SEEK_END)
        if undo.read(1) != b"\n":
            undo.write(b"\n")


def move_file(path: str, target: str) -> None:
    """By a rename; on another file system by a copy that is on disk, with its times, before the original goes."""
    try:
        os.rename(path, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy_over(path, target)


def _copy_over(path: str, target: str) -> None:
    """The copy grows in a folder of its own: whatever else lies beside the target is not ours to touch."""
    folder = os.path.dirname(target)
    beside = tempfile.mkdtemp(prefix=_BESIDE, dir=folder)
    copy = os.path.join(beside, "copy.part")
    try:
        shutil.copy2(path, copy, follow_symlinks=False)
        if not os.path.islink(copy):
            _sync(copy)
        os.rename(copy, target)
        _sync(folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)  # our own copy, where it is still there; the original is where it was
    os.unlink(path)


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
