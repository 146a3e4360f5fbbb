"""Words that several rules of this room share: changes with their figures, where a stage's function is.

Covers: sentences. Does not cover: what is worth saying (the rules).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from crashcart.finding import Where
from crashcart.stages import Change, PipelineMemory, Stage
from crashcart.units import size

_MOST = 4


def tried(memory: PipelineMemory) -> Iterator[str]:
    """The changes that leave least, those that suffice first."""
    fitting = [each for each in memory.changes if _suffices(memory, each)]
    others = [each for each in memory.changes if each not in fitting]
    yield from (told(each, memory) for each in (*fitting, *others)[:_MOST])


def told(change: Change, memory: PipelineMemory) -> str:
    """What to type, what is held then, and what that costs."""
    cost = f" ({change.note})" if change.note else ""
    return f"{change.how}: {size(change.held_bytes)}{cost}"


def first(found: Iterable[Change], memory: PipelineMemory) -> list[str]:
    """The one that leaves least."""
    best = min(found, key=lambda each: each.held_bytes, default=None)
    return [told(best, memory)] if best is not None and best.held_bytes < memory.held_bytes else []


def _suffices(memory: PipelineMemory, change: Change) -> bool:
    there = memory.available_bytes
    return there is not None and change.high_bytes <= there


def place(stage: Stage) -> Where | None:
    """The user's own line of the stage's function."""
    where = stage.function.where if stage.function is not None else None
    if where is None:
        return None
    file, _, line = where.rpartition(":")
    return Where(file, int(line) if line.isdigit() else None)


def named(stage: Stage) -> str:
    """A map with its line, where it has one."""
    where = stage.function.where if stage.function is not None else None
    return f"{stage.name} ({where})" if where else stage.name
