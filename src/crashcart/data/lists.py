r"""What is written for other programs: a line of JSON for each fault, and the list of the good files.

Covers: both, in order of path, whole or not at all (written beside, then renamed). Names of any bytes: JSON spells
them without loss (`\udcff` for a byte that is no UTF-8); a plain list has the bytes as they are, and leaves out, and
counts, names with a line break. What a run learnt that did not come to its end goes to `NAME.part`: a list of an earlier run
stays, and a part is not taken for the whole.
Does not cover: moving files (`quarantine.py`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from crashcart.data.drift import differing
from crashcart.data.duplicates import copies
from crashcart.data.state import State
from crashcart.errors import CannotCheckError
from crashcart.sound import ODD, Checked
from crashcart.survey import Survey

PART = ".part"


def place_of(name: str, partial: bool) -> str:
    """Where a list goes. A device, such as /dev/stdout, is what it is."""
    return f"{name}{PART}" if partial and not _is_device(name) else name


def _is_device(name: str) -> bool:
    return os.path.exists(name) and not os.path.isfile(name)


def write_faults(name: str, state: State, survey: Survey) -> int:
    """A line for each fault; how many."""
    lines = (json.dumps(each) + "\n" for each in fault_lines(state, survey))
    return _written(place_of(name, survey.interrupted), (line.encode("ascii") for line in lines))


def fault_lines(state: State, survey: Survey) -> Iterator[dict[str, object]]:
    """The faults of all files; then, as odd, what differs from the most files, and what is there twice."""
    for checked in state.faulty():
        yield from _faults_of(checked)
    if survey.drifts:
        for checked in state.all("facts IS NOT NULL AND NOT damaged"):
            yield from _differences_of(checked, survey)
    if survey.duplicates is not None and survey.duplicates.groups:
        for path, count_bytes, first in copies(state):
            yield _odd(Checked(path, count_bytes), "duplicate", f"the same content as {first}")


def _faults_of(checked: Checked) -> Iterator[dict[str, object]]:
    for fault in checked.faults:
        yield {"path": checked.path, "format": checked.format, "bytes": checked.bytes, **fault.to_json()}


def _differences_of(checked: Checked, survey: Survey) -> Iterator[dict[str, object]]:
    for drift, value in differing(checked, survey.drifts):
        detail = f"{drift.aspect}: {value}; {drift.usual_files} others have {drift.usual}"
        yield _odd(checked, "differs", detail)


def _odd(checked: Checked, kind: str, detail: str) -> dict[str, object]:
    """What is told of a file beside the others, in the form of a fault."""
    return {
        "path": checked.path, "format": checked.format, "bytes": checked.bytes, "kind": kind,
        "detail": detail, "where": None, "weight": ODD, "count": 1,
    }  # fmt: skip


def write_good(name: str, state: State, *, partial: bool = False) -> tuple[int, int]:
    """The good files, one on each line (`.jsonl`: as JSON strings); how many are in it, and how many could not be."""
    place = place_of(name, partial)
    if name.endswith(".jsonl"):
        return _written(place, (json.dumps(path).encode("ascii") + b"\n" for path in state.good_paths())), 0
    left_out = 0

    def lines() -> Iterator[bytes]:
        nonlocal left_out
        for path in state.good_paths():
            if "\n" in path or "\r" in path:
                left_out += 1
            else:
                yield os.fsencode(path) + b"\n"

    return _written(place, lines()), left_out


def _written(name: str, lines: Iterable[bytes]) -> int:
    """All lines, or the file as it was before. A device, such as /dev/stdout, is written as it is."""
    try:
        if _is_device(name):
            with open(name, "wb") as file:
                return _write(file, lines)
        return _written_beside(name, lines)
    except OSError as error:
        raise CannotCheckError(f"cannot write {name}: {error.strerror}", "Name another file.") from error


def _written_beside(name: str, lines: Iterable[bytes]) -> int:
    """Under a name that nobody has, until it is whole."""
    import secrets  # 2 ms, which a run without lists need not wait for

    beside = Path(os.path.dirname(os.path.abspath(name)), f".crashcart-{secrets.token_hex(8)}.part")
    with beside.open("xb") as file:
        try:
            count = _write(file, lines)
            file.flush()
            beside.replace(name)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    return count


def _write(file: BinaryIO, lines: Iterable[bytes]) -> int:
    count = 0
    for line in lines:
        file.write(line)
        count += 1
    return count
