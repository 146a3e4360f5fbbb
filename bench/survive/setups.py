"""Files that some programs read: written before the run, outside the memory group."""

from __future__ import annotations

import pickle
from pathlib import Path

from bench.trial import Setup

_LINES = "".join(f"{n:06} GET /item/{n * 7 % 1000} {'error' if n % 10 == 0 else 'ok'}\n" for n in range(20_000))


def log_file(name: str, size_mb: int) -> Setup:
    """A text file of many short lines."""

    def setup(tmp: Path) -> None:
        with (tmp / name).open("w") as file:
            for _ in range(size_mb * 10**6 // len(_LINES)):
                file.write(_LINES)

    return setup


def pickled_rows(name: str, rows: int) -> Setup:
    """A pickled list of dicts, written row by row: the list is never in memory here."""

    def setup(tmp: Path) -> None:
        with (tmp / name).open("wb") as file:
            file.write(pickle.PROTO + b"\x02" + pickle.EMPTY_LIST)
            for number in range(rows):
                row = {"id": number, "score": number * 0.5, "tags": ["a", str(number)]}
                file.write(pickle.dumps(row, 2).removeprefix(pickle.PROTO + b"\x02").removesuffix(pickle.STOP))
                file.write(pickle.APPEND)
            file.write(pickle.STOP)

    return setup
