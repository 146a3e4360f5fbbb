"""L115 summary-writers-left-open."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Finding
from crashcart.growth import Growth
from crashcart.leaks._holders import keeper_of, kept_at
from crashcart.leaks._made import made_anew
from crashcart.leaks._tell import Blame, counted_finding
from crashcart.rule import Rank, rule


@rule("L115", "summary-writers-left-open", Rank.ROOT)
def summary_writers_left_open(growth: Growth) -> Iterator[Finding]:
    """Summary writers are made with each step, and not closed.

    ## What it means

    A summary writer holds a file, a queue of events and a thread. One that is made for each step or epoch keeps them,
    and what was not flushed, until it is closed.

    ## How we know

    The writers that were made at one line became more to the end, and are still alive.

    ## What to do

    Make one writer before the loop and use it with `with writer.as_default():`; call `writer.close()` where another is
    needed.
    """
    for each in made_anew(growth, ("summary writer",))[:1]:
        keeper = keeper_of(growth, each)
        blame = Blame(
            "summary writers are made anew and not closed",
            f"{each.last - each.first:,} summary writers were made in {each.steps:,} steps and are still alive",
            (
                "make one writer before the loop, and use `with writer.as_default():` in it",
                "`writer.close()` before the next is made",
            ),
            kept_at(keeper, each),
        )
        yield counted_finding(growth, blame, keeper)
