"""L104 cache-never-forgets."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Finding
from crashcart.growth import Growth
from crashcart.leaks._holders import Holding, line_of
from crashcart.leaks._tell import Blame, held_by, held_finding
from crashcart.rule import Rank, rule


@rule("L104", "cache-never-forgets", Rank.ROOT)
def cache_never_forgets(growth: Growth) -> Iterator[Finding]:
    """A cache without a bound gets a new entry with each step.

    ## What it means

    A cache pays where the same things are asked for again. Here what is asked for is new with each step, so that it
    keeps all results and all arguments, and answers nothing.

    ## How we know

    A functools cache, or a dict by the name of a cache, was looked at several times: its entries became more to the end
    of the run. One that fills once and then stays is not told.

    ## What to do

    Bound it (`@functools.lru_cache(maxsize=128)`), or take what changes with each step out of its key.
    """
    for holding in held_by(growth, "cache"):
        blame = Blame(
            f"the cache `{holding.kept.name}` never forgets",
            "each step asks for something new, and the cache keeps it with its key",
            tuple(_remedy(holding)),
            line_of(holding, growth),
        )
        finding = held_finding(holding, growth, blame)
        if finding is not None:
            yield finding


def _remedy(holding: Holding) -> Iterator[str]:
    if "functools" in holding.kept.name or "lru_cache" in holding.kept.kind:
        yield "bound it: `@functools.lru_cache(maxsize=128)`"
        yield "arrays and tensors are new keys each time: cache by a name or a number, or do not cache"
        return
    yield f"bound it: drop the oldest when `len({holding.kept.name}) > 1000`, or use `functools.lru_cache(maxsize=1000)`"
    yield "leave what changes with each step (a step number, an id) out of the key"
