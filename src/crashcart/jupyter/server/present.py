"""What is known of a kernel that runs: its memory now and over time, and what the guard did.

Covers: the living recording as plain values for the Lab extension, and why there is none.
Does not cover: deaths (`deaths.py`).
"""

from __future__ import annotations

import time
from typing import Any

from crashcart.blackbox.live import guard_events, last_sample, use_over_time
from crashcart.jupyter.server.recordings import Recording
from crashcart.report.json import plain

MOST_POINTS = 300
MOST_STEPS = 12


def present(recording: Recording | None, unwatched: str, with_history: bool) -> dict[str, Any]:
    """The state of a kernel by its newest recording; `unwatched` says why there is none."""
    reason = unwatched if recording is None else _why_not_watched(recording)
    living = recording if reason is None else None
    state = {
        "schema": 1,
        "watched": living is not None,
        "ended": recording is not None and recording.has_ended,
        "reason": reason,
        "now_unix_s": time.time(),
        "memory": memory(living) if living is not None else None,
        "guard": steps(living) if living is not None else [],
    }
    return state | ({"history": history(living) if living is not None else []} if with_history else {})


def _why_not_watched(recording: Recording) -> str | None:
    if recording.started_unix_s is None:
        return f"The recording of this kernel cannot be read ({recording.folder.name})."
    if recording.has_ended:
        return "The kernel has ended, or its watcher has; it is watched again after a restart."
    return None


def memory(recording: Recording) -> dict[str, Any] | None:
    """Use of memory now, against the tightest limit."""
    sample = last_sample(recording.folder)
    if sample is None or recording.started_unix_s is None:
        return None
    return {
        "used_bytes": sample.used_bytes,
        "limit_bytes": sample.limit_bytes,
        "rss_bytes": sample.tree_rss_bytes or sample.rss_bytes,
        "at_unix_s": recording.started_unix_s + sample.at_s,
    }


def history(recording: Recording) -> list[list[float]]:
    """Use of memory over time, as pairs of moment and bytes."""
    started_s = recording.started_unix_s or 0.0
    return [[started_s + point.at_s, point.used_bytes] for point in use_over_time(recording.folder, MOST_POINTS)]


def steps(recording: Recording) -> list[dict[str, Any]]:
    """What the guard did last."""
    started_s = recording.started_unix_s or 0.0
    return [
        {"at_unix_s": started_s + event.at_s, "text": plain(event.text), "step": plain(event.facts.get("step"))}
        for event in guard_events(recording.folder, MOST_STEPS)
    ]
