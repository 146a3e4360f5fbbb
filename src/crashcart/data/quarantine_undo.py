"""Moves the files of a quarantine back to where they were.

Covers: the list that `quarantine.py` wrote, the last move first; a quarantine that was moved or renamed itself; lines that were
torn; what could not be moved back, with the reason. What is done leaves the list, so that no later file of the same name
is taken for it.
Does not cover: lists of early releases, which name the quarantine by its whole path, after the quarantine was moved: their
files are told as gone.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

from crashcart.data.quarantine import UNDO, move_file, words_of
from crashcart.errors import UsageError

GONE = "it is in neither place"
_MOST_SHOWN_BYTES = 80


def undo(folder: str) -> Iterator[tuple[str, str, str | None]]:
    """Move everything back, the last first: from where, to where, and why not where it could not be."""
    try:
        lines = Path(folder, UNDO).read_bytes().split(b"\n")
    except OSError as error:
        raise UsageError(f"{folder} is no quarantine: there is no {UNDO} in it") from error
    done: set[int] = set()
    try:
        for number, move, reason in _undone(folder, lines, done):
            if move is None:
                shown = repr(lines[number][:_MOST_SHOWN_BYTES])[1:]
                yield f"what line {number + 1} of {UNDO} names", shown, "the line is torn"
            else:
                yield move[1], move[0], reason
    finally:
        if done:
            _shorten(folder, [line for number, line in enumerate(lines) if line and number not in done])


Move = tuple[str, str]
"""From where, and to where."""


def _undone(folder: str, lines: Sequence[bytes], done: set[int]) -> Iterator[tuple[int, Move | None, str | None]]:
    """What became of each line, but for those that have nothing left to do."""
    taken: set[str] = set()
    for number in reversed(range(len(lines))):
        read = _move_of(lines[number], folder)
        if read is None:
            if lines[number]:
                yield number, None, None
            continue
        move, made = read
        place = os.path.join(os.path.realpath(os.path.dirname(move[1])), os.path.basename(move[1]))
        # A place is given to one file at a time: that of an earlier line had left it.
        nothing_to_do = place in taken or not made or _is_back(*move)
        taken.add(place)
        reason = None if nothing_to_do else _moved_back(*move)
        if reason is None:
            done.add(number)
        if not nothing_to_do:
            yield number, move, reason


def _move_of(line: bytes, folder: str) -> tuple[Move, bool] | None:
    """As the quarantine wrote it: from where, and to where below its folder, and whether it came to that; None for what
    is none of its lines.
    """
    try:
        move = json.loads(line)
        was, now, made = move["from"], move["to"], move.get("moved", True)
    except (ValueError, TypeError, KeyError):
        return None
    known = isinstance(was, str) and isinstance(now, str)
    return ((was, os.path.join(folder, now)), made is not False) if known else None


def _is_back(was: str, now: str) -> bool:
    """Whether it was moved back already, or never moved."""
    return not os.path.lexists(now) and os.path.lexists(was)


def _moved_back(was: str, now: str) -> str | None:
    """Move one file; why not, where that cannot be."""
    if not os.path.lexists(now):
        return GONE
    if os.path.lexists(was):
        return "there is a file by that name again"
    try:
        os.makedirs(os.path.dirname(was), exist_ok=True)
        move_file(now, was)
    except OSError as error:
        return words_of(error)
    return None


def _shorten(folder: str, lines: Sequence[bytes]) -> None:
    """The list without what is done; whole, or as it was. A list that stays too long is read to the same end."""
    beside = Path(folder, f".crashcart-{secrets.token_hex(8)}.part")
    with contextlib.suppress(OSError):
        try:
            with beside.open("xb") as file:
                file.write(b"".join(line + b"\n" for line in lines))
                file.flush()
                os.fsync(file.fileno())
            beside.replace(Path(folder, UNDO))
        finally:
            beside.unlink(missing_ok=True)
