"""L111 variables-made-anew."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Finding
from crashcart.growth import Growth
from crashcart.leaks._holders import keeper_of, kept_at
from crashcart.leaks._made import made_anew
from crashcart.leaks._tell import Blame, counted_finding
from crashcart.rule import Rank, rule


@rule("L111", "variables-made-anew", Rank.ROOT)
def variables_made_anew(growth: Growth) -> Iterator[Finding]:
    """Variables are made anew with each step, and stay.

    ## What it means

    A tf.Variable is state: it is made once and assigned to. One that is made in the loop, or in a function that runs
    with each step, stays alive as long as a tape, a function or a list of variables refers to it.

    ## How we know

    The variables that were made at one line became more to the end, and are still alive; no model or layer that brings
    them was made as often.

    ## What to do

    Make it once, before the loop, and write `variable.assign(value)` in it; take a plain tensor where nothing has to be
    kept.
    """
    for each in made_anew(growth, ("variable",))[:2]:
        keeper = keeper_of(growth, each)
        blame = Blame(
            f"`{each.name}` is made anew with each step",
            f"{each.last - each.first:,} variables ({each.name}) were made in {each.steps:,} steps and are still alive",
            (
                "make the variable once, before the loop, and `assign` to it",
                "use a plain tensor where no state is needed",
            ),
            kept_at(keeper, each),
        )
        yield counted_finding(growth, blame, keeper)
