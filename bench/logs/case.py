"""One log with its established cause, and the files that hold many.

Covers: reading case files: one JSON object a line, with `id`, `log`, `cause`, `also_ok` (other causes that an honest reader
may name), `decidable` (whether the text decides), `trap` (causes that the text seems to name), `remedy_must_mention`
(alternatives, separated by |, of which the advice names one).
Does not cover: judging (`score.py`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
HELD_OUT = tuple(HERE / name for name in ("held_out.jsonl", "held_out_later.jsonl", "held_out_fresh.jsonl"))


@dataclass(frozen=True, slots=True)
class Case:
    """A log and what is to be said about it."""

    id: str
    log: str
    cause: str
    also_ok: tuple[str, ...]
    decidable: bool
    trap: tuple[str, ...]
    mentions: tuple[str, ...]

    def accepts(self, cause: str) -> bool:
        return cause == self.cause or cause in self.also_ok


def read_cases(path: Path) -> list[Case]:
    with path.open(encoding="utf-8") as file:
        return [_case(json.loads(line)) for line in file if line.strip()]


def _case(plain: dict[str, Any]) -> Case:
    words = str(plain.get("remedy_must_mention") or "")
    return Case(
        id=str(plain["id"]),
        log=str(plain["log"]),
        cause=str(plain["cause"]),
        also_ok=tuple(map(str, plain.get("also_ok") or ())),
        decidable=bool(plain.get("decidable", True)),
        trap=tuple(map(str, plain.get("trap") or ())),
        mentions=tuple(each.strip().lower() for each in words.split("|") if each.strip()),
    )
