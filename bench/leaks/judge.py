"""What was said of a program against what is true.

Covers: found or not, the line and the holder of the first finding, and the figures over all programs.
Does not cover: running (`watched.py`), and whether the manifest is right (`truth.py`).

Every finding with the cause `memory-leak` counts, however unsure: on a leaking program as found, on a quiet one as a false alarm.
A program that was not checked is neither found nor cleared. Line and holder are asked of what was found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.leaks.manifest import Subject
from bench.leaks.watched import Watched

RECALL_AIM, PRECISION_AIM, LINE_AIM, HOLDER_AIM = 0.95, 0.95, 0.85, 0.85


@dataclass(frozen=True)
class Said:
    """What a report came to."""

    subject: Subject
    outcome: str
    """"found", "clear", "not checked" or "failed"."""
    line_right: bool | None
    holder_right: bool | None
    words: str
    """The verdict, or the reason why there is none."""

    @property
    def right(self) -> bool:
        """Whether the outcome is what the manifest says."""
        return self.outcome == ("found" if self.subject.leaks else "clear")


def judged(subject: Subject, watched: Watched) -> Said:
    """The first finding beside what the manifest knows."""
    findings = watched.findings
    if not findings:
        outcome = {0: "clear", 3: "not checked"}.get(watched.status if watched.status is not None else -1, "failed")
        return Said(subject, outcome, None, None, _reason(watched, outcome))
    first = findings[0]
    where = first.get("where") or {}
    line, holder = where.get("line"), first.get("holder")
    file_right = Path(where.get("file") or "").name == subject.path.name
    words = f"{first['code']} {first['confidence']}: {first['headline']} [line {line}, holder {holder}]"
    if not subject.leaks:
        return Said(subject, "found", None, None, words)
    line_right = file_right and line in subject.lines
    return Said(subject, "found", line_right, names(holder, subject.holders) if subject.holders else None, words)


def names(holder: str | None, wanted: Sequence[str]) -> bool:
    """Whether the reported holder has one of these names as a word of its own."""
    return holder is not None and any(re.search(rf"(?<!\w){re.escape(each)}(?!\w)", holder) for each in wanted)


def _reason(watched: Watched, outcome: str) -> str:
    if outcome == "not checked":
        return "; ".join((watched.document or {}).get("not_checked") or [last_line(watched.stderr)])[:200]
    return "" if outcome == "clear" else f"status {watched.status}: {last_line(watched.stderr)}"


def last_line(text: str) -> str:
    """Of what was printed."""
    return (text.strip().splitlines() or ["no output"])[-1][:200]


@dataclass(frozen=True)
class Figures:
    """What the rows come to; a share is None where there is nothing to divide by."""

    recall: float | None
    precision: float | None
    line: float | None
    holder: float | None
    not_checked: int


def figures(rows: Sequence[Said]) -> Figures:
    """Shares over all rows."""
    leaking = [row for row in rows if row.subject.leaks]
    found = [row for row in leaking if row.outcome == "found"]
    alarms = sum(row.outcome == "found" and not row.subject.leaks for row in rows)
    return Figures(
        _share([row.outcome == "found" for row in leaking]),
        _share([True] * len(found) + [False] * alarms),
        _share([bool(row.line_right) for row in found]),
        _share([bool(row.holder_right) for row in found if row.subject.holders]),
        sum(row.outcome == "not checked" for row in rows),
    )


def _share(right: Sequence[bool]) -> float | None:
    return sum(right) / len(right) if right else None
