"""Where to cut a chain of operations, so that keeping the cuts and computing the rest again takes the least memory.

Covers: the choice, on plain numbers: what each operation gives out, and who reads it last. Between two cuts
everything is computed again at once when the gradient arrives, so the cost of a choice is what crosses its cuts plus
the largest part between two.
Does not cover: Keras (`rematerialise.py`). For a plain chain of n equal layers this gives about the square root of n
parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# How many limits of a part's size are tried, evenly on a scale of factors; the cost is flat around the best.
LIMITS = 16


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of the chain."""

    held_bytes: int
    """What it keeps for its gradient if it is not computed again: about what it gives out."""
    out_bytes: int
    """What has to be kept if somebody behind a cut reads it."""
    last_reader: int
    """The number of the last step that reads what it gives out; its own number where none does."""
    alone: bool = False
    """Whether it must not be part of anything that is computed again."""


def parts(steps: Sequence[Step]) -> list[tuple[int, int]]:
    """The parts as half-open ranges, in order; they cover all steps. A single part means that cutting saves nothing."""
    if not steps:
        return []
    total = sum(each.held_bytes for each in steps)
    largest = max(each.held_bytes for each in steps) or 1
    best, best_cost = [(0, len(steps))], total
    for number in range(LIMITS):
        limit = int(largest * (max(total / largest, 1.0) ** (number / LIMITS))) + 1
        found, kept = _cut(steps, limit)
        cost = kept + max(_weight(steps, part) for part in found)
        if cost < best_cost:
            best, best_cost = found, cost
    return best


def _weight(steps: Sequence[Step], part: tuple[int, int]) -> int:
    return sum(each.held_bytes for each in steps[part[0] : part[1]])


def _cut(steps: Sequence[Step], limit: int) -> tuple[list[tuple[int, int]], int]:
    """The cuts that keep the least with no part above the limit (a step that must stay alone is a part of its own)."""
    count = len(steps)
    kept: list[float] = [0.0] + [float("inf")] * count
    came = [0] * (count + 1)
    for end in range(1, count + 1):
        held = crossing = 0
        for begin in range(end - 1, -1, -1):
            step = steps[begin]
            held += step.held_bytes
            alone = step.alone or steps[end - 1].alone
            if begin < end - 1 and (held > limit or alone):
                break
            crossing += step.out_bytes if step.last_reader >= end else 0
            if kept[begin] + crossing < kept[end]:
                kept[end], came[end] = kept[begin] + crossing, begin
    found, end = [], count
    while end:
        found.append((came[end], end))
        end = came[end]
    return found[::-1], int(kept[count])
