"""L119 loop-that-ended-took-memory."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import place
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.growth import Growth
from crashcart.leaks._holders import Holding, line_of, main_holding
from crashcart.leaks._leak import Leak, grown_of, leak_of, memory_of, rose_after
from crashcart.leaks._tell import held_words
from crashcart.rule import Rank, rule
from crashcart.units import plural, size


@rule("L119", "loop-that-ended-took-memory", Rank.KIND)
def loop_that_ended_took_memory(growth: Growth) -> Iterator[Finding]:
    """A loop took memory with each of its passes, and ended before the program did.

    ## What it means

    Images that are loaded, rows that are parsed, or predictions that are collected for a score fill memory with each pass,
    and are meant to. That is no leak: it ends with the data. With more data it takes more.

    ## How we know

    Memory rose with the passes of the loop to its end; other steps came after it, or the program ran on for a fifth of its
    time. Where memory rose further then, in what was not counted as steps, the note says so, and there is no all-clear. Of a
    container that a later loop goes on to fill, the leak is told, and no note.

    ## What to do

    Nothing, where it is meant and fits. Else read the data in parts (`tf.data`, a generator, `np.memmap`), or write results
    to disk as they come.
    """
    leak = leak_of(growth)
    told = main_holding(growth, leak.per_step) if leak is not None else None
    for part in (growth.earlier, growth):
        grown = grown_of(part) if part is not None else None
        if part is None or grown is None or (part is growth and leak is not None):
            continue
        holding = main_holding(part, grown.per_step)
        if holding is not None and told is not None and holding.kept.name == told.kept.name:
            continue
        yield Finding(
            Cause.CLEAN_EXIT,
            f"{_what(holding)} by a loop that has ended: {size(grown.grown_bytes)} in all",
            tuple(_facts(part, grown)),
            ("nothing, where it is meant and fits; else read the data in parts (`tf.data`, a generator, `np.memmap`)",),
            Confidence.LIKELY,
            place(
                line_of(holding, part) if holding is not None else part.steps.frame if part.steps is not None else None
            ),
            (held_words(holding),) if holding is not None else (),
            level=Level.NOTE,
            holder=holding.kept.name if holding is not None else None,
        )


def _what(holding: Holding | None) -> str:
    return f"`{holding.kept.name}` was filled" if holding is not None else "memory was taken"


def _facts(growth: Growth, grown: Leak) -> Iterator[str]:
    series, steps = memory_of(growth), growth.steps
    if steps is None or series is None:
        return
    yield (
        f"memory rose by {size(grown.per_step)} with each of the {plural(steps.count, 'step')} ({steps.name}), which have ended"
    )
    after = growth.after
    if rose_after(growth) and after is not None and after.grown_bytes is not None:
        yield f"the program went on after that, and memory rose by {size(after.grown_bytes)} more, not by these steps"
    else:
        yield "the program went on after that, and memory did not go on rising"
