"""L118 memory-waits-for-the-collector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.growth import Growth
from crashcart.leaks._leak import leak_of, memory_of
from crashcart.rule import Rank, rule
from crashcart.units import MIB, size

LEAST_TEETH = 3
LEAST_TOOTH_BYTES = 64 * MIB
LEAST_TOOTH_SHARE = 0.15


@rule("L118", "memory-waits-for-the-collector", Rank.KIND)
def memory_waits_for_the_collector(growth: Growth) -> Iterator[Finding]:
    """Memory rises and falls in teeth: much of it waits in cycles for the garbage collector.

    ## What it means

    Objects that refer to each other in a circle are freed only when the collector comes by. It counts objects, not
    bytes, so a few hundred cycles with large tensors in them can hold gigabytes. This is no leak, and the peaks can
    still kill.

    ## How we know

    Memory rose and fell by much, several times, and so did the number of Python's own blocks; the lower level did not
    rise.

    ## What to do

    Break the cycle (a callback that refers to its owner, an exception that is kept with its traceback), or call
    `gc.collect()` every so many steps.
    """
    memory, blocks = memory_of(growth), growth.named("blocks")
    if memory is None or blocks is None or leak_of(growth) is not None:
        return
    least = max(LEAST_TOOTH_BYTES, round(LEAST_TOOTH_SHARE * max(memory.values, default=0)))
    falls = [step for step, _ in _falls(memory.steps, memory.values, least)]
    height = max((fall for _, fall in _falls(memory.steps, memory.values, least)), default=0)
    least_blocks = (max(blocks.values, default=0) - min(blocks.values, default=0)) // 3
    together = [step for step, _ in _falls(blocks.steps, blocks.values, max(1000, least_blocks))]
    if len(falls) < LEAST_TEETH or len(together) < LEAST_TEETH:
        return
    yield Finding(
        Cause.CLEAN_EXIT,
        f"up to {size(height)} wait for the garbage collector again and again",
        (
            f"memory fell by {size(least)} or more {len(falls)} times, and Python's own blocks with it",
            "the lower level did not rise",
        ),
        (
            "call `gc.collect()` every so many steps, if the peaks are too high",
            "look for cycles: a callback or exception that refers to what refers to it",
        ),
        Confidence.LIKELY,
        level=Level.NOTE,
    )


def _falls(steps: Sequence[int], values: Sequence[int], least: int) -> Iterator[tuple[int, int]]:
    """Where it fell by so much at once after a rise, and by how much."""
    top = low = values[0] if values else 0
    for step, value in zip(steps, values, strict=True):
        if value > top:
            top = value
        elif top - value >= least:
            if top - low >= least:
                yield step, top - value
            top = low = value
        elif value < low:
            top = low = value
