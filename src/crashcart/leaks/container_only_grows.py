"""L105 container-only-grows."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Finding
from crashcart.growth import Growth
from crashcart.leaks._bound import bounded
from crashcart.leaks._fill import fill_of
from crashcart.leaks._holders import line_of
from crashcart.leaks._tell import INSIDE, Blame, held_by, held_finding
from crashcart.rule import Rank, rule


@rule("L105", "container-only-grows", Rank.ROOT)
def container_only_grows(growth: Growth) -> Iterator[Finding]:
    """A container gets something with each step, and nothing is ever taken out.

    ## What it means

    Logs, rows, messages and samples that are collected in memory grow with the length of the run. A longer run, not a
    larger model, then decides whether it ends well.

    ## How we know

    The container was looked at several times by its name. Its elements became more to the end, and their bytes make up
    a good part of the growth of the process.

    ## What to do

    Write what is collected to a file as it comes, keep a summary, or bound the container
    (`collections.deque(maxlen=…)`).
    """
    for holding in held_by(growth, "others"):
        name, frame = holding.kept.name, line_of(holding, growth)
        blame = Blame(
            f"`{name}` only grows",
            INSIDE if holding.grows_inside else "each step puts something in, and nothing is taken out",
            (
                f"write what goes into `{name}` to a file as it comes, or keep a summary of it",
                *([bounded(holding, fill_of(frame))] if holding.counts is not None else ()),
            ),
            frame,
        )
        finding = held_finding(holding, growth, blame)
        if finding is not None:
            yield finding
