"""What a pipeline holds, in words, for every form of a report.

Covers: the verdict in a line, the rows of the table, what was assumed. Does not cover: layout (`pipeline.py`,
`pipeline.html.j2`). Labels have the user's own file names, and are still untrusted here.
"""

from __future__ import annotations

from dataclasses import dataclass

from crashcart.stages import Held, PipelineMemory
from crashcart.units import duration, size

_LEAST_SHARE = 0.001
_SOON_S = 3600.0


@dataclass(frozen=True, slots=True)
class Row:
    """One stage."""

    label: str
    element: str
    count: str
    holds: str
    high: str
    share: float
    """Of the largest one."""
    here: bool
    """Whether it holds most."""


def headline(memory: PipelineMemory) -> str:
    """`holds 9.8 GiB of 7.8 GiB available: this will be killed while the shuffle buffer fills (in about 40 s)`."""
    least = "at least " if memory.unknown else ""
    there = f" of {size(memory.available_bytes)} available" if memory.available_bytes is not None else ""
    said = verdict(memory)
    return f"holds {least}{size(memory.held_bytes)}{there}{f': {said}' if said else ''}"


def verdict(memory: PipelineMemory) -> str:
    """What comes of it; empty where nobody knows how much there is."""
    if memory.died is not None:
        return "one element alone takes more than there is"
    if memory.endless is not None:
        return f"this will be killed: {memory.endless} has no end"
    if memory.available_bytes is None:
        return ""
    if memory.fits:
        return "fits"
    if memory.fits is None:
        if memory.unknown and memory.high_bytes <= memory.available_bytes:
            return f"nobody knows what {memory.unknown[0]} will hold"
        if memory.held_bytes > memory.available_bytes:
            return f"this may well be killed {_while(memory)}{_room(memory)}"
        return f"may be killed: up to {size(memory.high_bytes)} at worst"
    when = memory.fill_s
    soon = f" (in about {about(when)})" if when is not None and when < _SOON_S else ""
    return f"this will be killed {_while(memory)}{soon}"


def about(seconds: float) -> str:
    """A duration that was reckoned: with no more digits than are known."""
    if seconds < 10:
        return duration(max(1.0, round(seconds))).replace(".0 s", " s")
    step = 10 if seconds < 120 else 60
    return duration(round(seconds / step) * step)


def _while(memory: PipelineMemory) -> str:
    if (memory.built_bytes or 0) > (memory.available_bytes or 0):
        return "as soon as the dataset is built"
    row = memory.largest
    if row is None or row.kind not in ("buffer", "cache"):
        return "as soon as elements are asked for"
    return f"while the {row.name} fills" if row.kind == "cache" else f"while the {row.name} buffer fills"


def _room(memory: PipelineMemory) -> str:
    count = memory.room_for
    return "" if count is None else f", if there are more than about {count} elements: nobody knows how many"


def sentence(memory: PipelineMemory) -> str:
    """The answer for a page."""
    worst = f"{size(memory.high_bytes)} at worst"
    return f"the pipeline holds {size(memory.held_bytes)} once its buffers are full, {worst}"


def rows(memory: PipelineMemory) -> list[Row]:
    """The stages that hold something, outermost first."""
    known = memory.rows
    largest = max((each.bytes for each in known), default=0)
    shown = [each for each in known if max(each.bytes, each.high_bytes) >= _LEAST_SHARE * max(1, memory.high_bytes)]
    return [_row(each, largest) for each in shown]


def _row(held: Held, largest: int) -> Row:
    return Row(
        f"{'  ' * held.depth}{held.label}",
        "" if held.element_bytes is None else size(held.element_bytes),
        "" if held.count is None else str(held.count),
        "shared" if held.note == "shared" and held.bytes < 1 << 20 else size(held.bytes),
        size(held.high_bytes),
        held.bytes / max(1, largest),
        held.bytes == largest and largest > 0,
    )


def facts(memory: PipelineMemory) -> list[tuple[str, str]]:
    """Beside the table."""
    found = [("held", size(memory.held_bytes)), ("at worst", size(memory.high_bytes))]
    if memory.built_bytes:
        found.append(("built before", size(memory.built_bytes)))
    if memory.available_bytes is not None:
        found.append(("available", f"{size(memory.available_bytes)} ({memory.available_in})"))
    if memory.fill_s is not None and memory.fits:
        found.append(("full after", f"about {about(memory.fill_s)}"))
    return [*found, *(("not known", each) for each in memory.unknown), *(("assumed", each) for each in memory.assumed)]


def glance(memory: PipelineMemory) -> list[tuple[str, str, str]]:
    """The few figures that a reader wants first."""
    found = [("Holds", size(memory.held_bytes), f"{size(memory.high_bytes)} at worst")]
    if memory.available_bytes is not None:
        found.append(("Available", size(memory.available_bytes), memory.available_in or ""))
    row = memory.largest
    return [*found, ("Most", size(row.bytes), row.label)] if row is not None else found
