"""How the lives of a kernel ended: the verdicts that the Lab extension shows.

Covers: judging recordings once and remembering the verdict; leaving out ends that were asked for (a restart, a shutdown).
Does not cover: finding the recordings of a kernel (`recordings.py`).
"""

from __future__ import annotations

import threading
import time
from typing import Any

from crashcart.errors import UnreadableRecordingError
from crashcart.evidence import Evidence
from crashcart.jupyter.server.present import history
from crashcart.jupyter.server.recordings import Recording
from crashcart.report.json import to_document
from crashcart.why import ended_unasked, explain, rules
from crashcart.why.collect import collect

MOST_DEATHS = 5
SETTLED_S = 5.0
"""The watcher keeps source lines and versions of packages within this after it wrote the ending down."""

Row = dict[str, Any]


class Deaths:
    """The verdicts on ended recordings. Safe to ask from several threads; each recording is judged once."""

    def __init__(self) -> None:
        self._rows: dict[str, Row | None] = {}
        self._lock = threading.Lock()

    def of(self, recordings: list[Recording]) -> list[Row]:
        """The deaths among the newest of these recordings, newest first."""
        ended = [recording for recording in recordings if recording.has_ended][:MOST_DEATHS]
        with self._lock:
            rows = [self._row(recording) for recording in ended]
        return [row for row in rows if row is not None]

    def _row(self, recording: Recording) -> Row | None:
        name = recording.folder.name
        if name in self._rows:
            return self._rows[name]
        row = _judged(recording)
        if _is_settled(recording):
            self._rows[name] = row
        return row


def full(recording: Recording) -> dict[str, Any]:
    """The whole report on one death: as a document, as a page, and the curve of its memory."""
    from crashcart.report.html import render_html

    evidence = collect(recording.folder)
    report = explain(evidence, recording.folder.name)
    return {
        "schema": 1,
        "document": to_document(report, evidence),
        "html": render_html(report, evidence, {each.code: each.name for each in rules()}),
        "history": history(recording),
        "limit_bytes": evidence.samples[-1].limit_bytes if evidence.samples else None,
    }


def _is_settled(recording: Recording) -> bool:
    if (recording.folder / "kept.json").exists():
        return True
    try:
        changed_s = (recording.folder / "ending.json").stat().st_mtime
    except OSError:
        return True
    return time.time() - changed_s > SETTLED_S


def _judged(recording: Recording) -> Row | None:
    """A line about the death; None for an end that was asked for."""
    name = recording.folder.name
    try:
        evidence = collect(recording.folder)
        report = explain(evidence, name)
    except UnreadableRecordingError as error:
        return _line(name, None, {"headline": str(error)})
    except Exception as error:  # our own failure must not hide the kernel's memory, which is in the same answer
        return _line(name, None, {"headline": f"The verdict could not be made: {type(error).__name__}: {error}"})
    if report.verdict is None or not ended_unasked(evidence):
        return None
    return _line(name, _ended_unix_s(evidence), to_document(report, evidence)["findings"][0])


def _line(name: str, at_unix_s: float | None, finding: dict[str, Any]) -> Row:
    where = finding.get("where") or {}
    return {
        "recording": name,
        "at_unix_s": at_unix_s,
        **{key: finding.get(key) for key in ("headline", "cause", "confidence")},
        **{key: where.get(key) for key in ("cell", "cell_id", "line")},
    }


def _ended_unix_s(evidence: Evidence) -> float | None:
    if evidence.program is None or evidence.ending is None or evidence.ending.at_s is None:
        return None
    return evidence.program.started_unix_s + evidence.ending.at_s
