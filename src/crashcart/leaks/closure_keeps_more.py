"""L106 closure-keeps-more."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Finding
from crashcart.growth import Growth
from crashcart.leaks._bound import bounded
from crashcart.leaks._fill import fill_of
from crashcart.leaks._holders import line_of
from crashcart.leaks._tell import Blame, held_by, held_finding
from crashcart.rule import Rank, rule


@rule("L106", "closure-keeps-more", Rank.ROOT)
def closure_keeps_more(growth: Growth) -> Iterator[Finding]:
    """A function keeps more with each call, in a variable of the function around it.

    ## What it means

    What a nested function or a lambda refers to lives as long as that function does: a list that it fills, a tensor
    that it captured. No global name leads there, so it is hard to see.

    ## How we know

    The cells of the closures of the user's own functions were looked at several times; what one of them holds grew to
    the end.

    ## What to do

    Return results instead of collecting them inside, or bound what is collected. Do not capture tensors of a step in a
    lambda that is kept: hand their numbers to it.
    """
    for holding in held_by(growth, "closure"):
        frame = line_of(holding, growth)
        inner = holding.kept.name.partition(":")[2].strip() or holding.kept.name
        blame = Blame(
            f"the {holding.kept.name.partition(':')[0]} keeps more with each call",
            f"`{inner}` lives as long as the function that refers to it, and each call puts something in",
            (
                f"return what goes into `{inner}`, and let the caller keep a number of it",
                bounded(holding, fill_of(frame)),
            ),
            frame,
        )
        finding = held_finding(holding, growth, blame)
        if finding is not None:
            yield finding
