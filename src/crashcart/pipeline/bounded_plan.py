"""Which buffers get how many elements, so that all of them together stay within a budget. Pure: no TensorFlow here.

Covers: the order in which buffers give way, and the error for what cannot. Does not cover: how large elements are
(`bounded_sizes`), which buffers there are (`bounded_stages`), putting it into effect (`bounded`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from crashcart.errors import CrashcartError
from crashcart.units import size


class CannotBoundError(CrashcartError):
    """The pipeline cannot work within the budget, however small its buffers are."""

    exit_code = 1
    help = "Give a larger budget, or make the elements smaller: a smaller batch, a smaller image, uint8 instead of float32."


class Part(Enum):
    """What a buffer is for; they are served in this order: speed first, as it costs little, then randomness, then caches."""

    FIXED = "fixed"
    CALLS = "calls"
    AHEAD = "ahead"
    SHUFFLE = "shuffle"
    CACHE = "cache"


AHEAD_FIRST = 2
"""Elements that are made ahead before shuffles get their share: one to take, one in the making."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """Room for elements at one stage."""

    key: tuple[int, str]
    """The stage's number and the attribute that sets it."""
    words: str
    part: Part
    wanted: int | None
    """Elements as the user asked, or as TensorFlow would take; None where nobody knows (a cache of an open end)."""
    least: int
    each_bytes: int
    steps: tuple[int, ...] = ()
    """The only counts that can be set, where not every count can."""
    measured: bool = False
    autotuned: bool = False
    """Whether TensorFlow would choose the count while it runs."""

    def bytes_with(self, count: int) -> int:
        """What it holds with so many elements."""
        return count * self.each_bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """How many elements each buffer gets, and what all of them hold at most."""

    counts: Mapping[tuple[int, str], int]
    held_bytes: int
    usable_bytes: int


# Measured as growth of the resident memory while pipelines of no weight ran in a new process (TensorFlow 2.21): 40 to 60 MiB for
# threads, their heaps and instantiated functions.
RUNTIME_BYTES = 64 << 20
HEAP_SHARE = 0.8
"""What threads leave unused in their heaps: a shuffle of images of 768 KiB took 1.6 times what it held, as each thread keeps the
blocks that were freed in its own heap (2 cores, 5 runs: 1.4 to 1.65)."""


def usable_bytes(budget_bytes: int) -> int:
    """What buffers may hold of a budget."""
    return int((budget_bytes - RUNTIME_BYTES) / (1 + HEAP_SHARE))


def needed_budget(held_bytes: int) -> int:
    """The budget in which so much can be held: the inverse of `usable_bytes`."""
    return int(held_bytes * (1 + HEAP_SHARE)) + RUNTIME_BYTES


def planned(buffers: Sequence[Buffer], budget_bytes: int, constant_bytes: int = 0) -> Plan:
    """Counts for all buffers, beside tensors that take their part of the budget already. CannotBoundError where even the least
    do not fit."""
    usable = usable_bytes(budget_bytes - constant_bytes)
    least = sum(each.bytes_with(each.least) for each in buffers)
    if least > usable:
        raise CannotBoundError(_refusal(buffers, least, budget_bytes, constant_bytes), _help(buffers))
    counts = {each.key: each.least for each in buffers}
    left = usable - least
    for part in Part:
        served = [each for each in buffers if each.part is part]
        if part is Part.AHEAD:
            served = [replace(each, wanted=min(each.wanted or 0, AHEAD_FIRST)) for each in served]
        left -= _serve(served, left, counts)
    for each in buffers:  # whoever got less than asked takes what the others left
        left -= _serve([each], left, counts)
    return Plan(counts, usable - left, usable)


def _serve(buffers: Sequence[Buffer], left: int, counts: dict[tuple[int, str], int]) -> int:
    """Raise the counts of these buffers as far as the rest allows; the bytes that this took."""
    missing = sum(_missing_bytes(each, counts[each.key]) for each in buffers)
    share = 1.0 if missing <= left else left / missing
    taken = 0
    for each in buffers:
        now = counts[each.key]
        count = _reachable(each, now, int(_missing_bytes(each, now) * share))
        counts[each.key] = count
        taken += each.bytes_with(count - now)
    return taken


def _missing_bytes(buffer: Buffer, now: int) -> int:
    return 0 if buffer.wanted is None else max(0, buffer.bytes_with(buffer.wanted - now))


def _reachable(buffer: Buffer, now: int, more_bytes: int) -> int:
    """The largest count that costs no more than so many bytes on top; all or nothing for a cache."""
    if buffer.wanted is None or buffer.wanted <= now:
        return now
    count = buffer.wanted if buffer.each_bytes == 0 else min(buffer.wanted, now + more_bytes // buffer.each_bytes)
    if buffer.steps:
        return max(each for each in (now, *buffer.steps) if each <= count)
    return count


def _largest(buffers: Sequence[Buffer]) -> Buffer:
    return max(buffers, key=lambda each: each.bytes_with(each.least))


def _help(buffers: Sequence[Buffer]) -> str | None:
    if not _largest(buffers).words.startswith("unique"):
        return None
    return "Where few elements differ, say how many: .unique().apply(tf.data.experimental.assert_cardinality(n))."


def _refusal(buffers: Sequence[Buffer], least: int, budget_bytes: int, constant_bytes: int) -> str:
    largest = _largest(buffers)
    usable = max(0, usable_bytes(budget_bytes - constant_bytes))
    return (
        f"the budget is {size(budget_bytes)}, of which buffers can have {size(usable)}; even with the smallest buffers this "
        f"pipeline holds {size(least)}, {size(largest.bytes_with(largest.least))} of it at {largest.words}: it needs a "
        f"budget of {size(needed_budget(least) + constant_bytes)}"
    )
