"""L114 iterators-pile-up."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Finding
from crashcart.growth import Growth
from crashcart.leaks._holders import keeper_of, kept_at
from crashcart.leaks._made import is_keras_call, made_anew
from crashcart.leaks._tell import Blame, counted_finding
from crashcart.rule import Rank, rule


@rule("L114", "iterators-pile-up", Rank.ROOT)
def iterators_pile_up(growth: Growth) -> Iterator[Finding]:
    """Iterators of datasets are made with each step, and stay with their buffers.

    ## What it means

    An iterator holds the buffers of its pipeline: shuffle, prefetch, batches. One that is made in each step
    (`next(iter(dataset))`, a new dataset in each round, `from_generator` over new objects) holds a full set of them
    until nothing refers to it.

    ## How we know

    The iterators that were made at one line became more to the end, and are still alive.

    ## What to do

    Make the dataset and its iterator once, before the loop, with `repeat()`, and call `next` in it.
    """
    for each in made_anew(growth, ("dataset iterator",)):
        if not is_keras_call(each):
            keeper = keeper_of(growth, each)
            blame = Blame(
                "iterators of datasets pile up",
                f"{each.last - each.first:,} iterators ({each.name}) were made in {each.steps:,} steps and are still alive",
                (
                    "make the iterator once, before the loop: `batches = iter(dataset.repeat())`, then `next(batches)`",
                    "drop the old one before the next is made: `del iterator`",
                ),
                kept_at(keeper, each),
            )
            yield counted_finding(growth, blame, keeper)
            return
