"""Measurements over the steps of a program, from the looks that were taken at it.

Covers: series, what a process holds of its own (with what it shares without a file), what was seen after the last step.
Does not cover: which step it is (`growth_steps.py`), or whether anything rises (`trend.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crashcart.blackbox.growth_steps import Chosen
from crashcart.growth import After, Series

Record = dict[str, Any]
BYTES = ("rss", "private", "shmem", "data", "python", "tensor_bytes")
COUNTS = ("blocks", "traces", "graphs", "variables", "models", "layers", "operations", "sessions", "functions",
          "threads", "descriptors", "children", "tensors")  # fmt: skip
OF_MEMORY = ("rss", "private", "shmem", "data", "python", "blocks")
MOST_POINTS = 2000
LAST_QUARTER = 0.75


def looks_of(records: list[Record]) -> list[Record]:
    """The looks, in order, each once. What a process shares without a file (`/dev/shm`, anonymous maps) is looked at seldom:
    it counts as its own, at its last known size."""
    looks = list({each["at"]: each for each in records if each.get("kind") == "leak-look"}.values())
    known = next((each["shmem"] for each in looks if isinstance(each.get("shmem"), int)), None)
    if known is None:
        return looks
    found = []
    for look in looks:
        known = look["shmem"] if isinstance(look.get("shmem"), int) else known
        found.append({**look, "private": look["private"] + known} if isinstance(look.get("private"), int) else look)
    return found


def series_of(looks: list[Record], records: list[Record], chosen: Chosen | None) -> Iterator[Series]:
    """All of them, by the steps."""
    if chosen is None:
        return
    tensors = [
        {"at": each["at"], "n": each.get("n"), "tensors": each.get("count"), "tensor_bytes": each.get("bytes")}
        for each in records
        if each.get("kind") == "leak-tensors"
    ]
    for name in (*BYTES, *COUNTS):
        found = _series(name, tensors if name.startswith("tensor") else looks, chosen)
        if found is not None:
            yield found


def _series(name: str, looks: list[Record], chosen: Chosen) -> Series | None:
    points: dict[int, tuple[int, float]] = {}
    for look in looks:
        step = chosen.step(look)
        last = look.get("last") and name in OF_MEMORY  # after the last step, functions have given theirs back
        if step >= 1 and isinstance(look.get(name), int) and not last:
            points[step] = (look[name], float(look["at"]))
    if not points:
        return None
    steps = _thinned(sorted(points))
    values, at_s = tuple(points[step][0] for step in steps), tuple(points[step][1] for step in steps)
    return Series(name, "bytes" if name in BYTES else "count", tuple(steps), values, at_s)


def _thinned(steps: list[int]) -> list[int]:
    """At most so many, evenly, with the last; the first few hundred of a long run are no denser than the rest."""
    if len(steps) <= MOST_POINTS:
        return steps
    every = len(steps) / MOST_POINTS
    return [steps[int(place * every)] for place in range(MOST_POINTS - 1)] + [steps[-1]]


def after_of(chosen: Chosen, looks: list[Record], ended_s: float | None) -> After:
    """How long it went on after the last step, and how much higher its memory was then than late in the steps."""
    late_s = chosen.first_s + LAST_QUARTER * (chosen.last_s - chosen.first_s)
    during = [each["private"] for each in looks if late_s <= each["at"] <= chosen.last_s and "private" in each]
    after = [each["private"] for each in looks if each["at"] > chosen.last_s and "private" in each]
    grown = max(after) - max(during) if after and during else None
    return After(max(0.0, (ended_s or chosen.last_s) - chosen.last_s), grown)
