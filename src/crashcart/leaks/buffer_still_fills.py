"""L117 buffer-still-fills."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import place
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.growth import Growth
from crashcart.leaks._excused import asked_bytes, caches_filled, excused, filling, is_first_touch
from crashcart.leaks._holders import Holding, bound_of, line_of
from crashcart.leaks._leak import least_bytes, memory_of, whole_of
from crashcart.leaks._tell import held_words
from crashcart.rule import Rank, rule
from crashcart.units import MIB, size

ASKED_BYTES = 1 * MIB
"""Less than that is no more: what Python's own heap asks for as it goes."""


@rule("L117", "buffer-still-fills", Rank.KIND)
def buffer_still_fills(growth: Growth) -> Iterator[Finding]:
    """A buffer with a bound, a cache of tf.data or an array is not full yet: memory grows until it is.

    ## What it means

    A replay buffer, or a cache with a `maxsize`, grows by design and then stays; so does an array (`np.zeros`) whose
    pages come when they are first written to, and `ds.cache()` in its first epoch. That is no leak. What it will take
    when it is full can still be more than there is.

    ## How we know

    The container says its own bound, and has not reached it. Its bytes for an element times that bound are what it will
    take. Of an array: the process holds more with each step, and has asked for little more. Of a cache of tf.data: one
    iterator goes through it from the beginning of the growth to the last step, with no `repeat` in between, and the types
    of its elements and the sizes of the batches come to most of the growth.

    ## What to do

    Nothing, where it fits; else make the bound smaller, or the elements (`uint8` in place of `float32`, one copy of
    each frame). A cache can come before what makes elements larger (decoding, `cast`), or go to a file
    (`ds.cache("file")`).
    """
    yield from _touched(growth)
    yield from _cached(growth)
    series = memory_of(growth)
    for holding in filling(growth) if series is not None else ():
        full = _full_bytes(holding)
        if full is None or series is None or full < least_bytes(series):
            continue
        more = full - holding.kept.sizes_bytes[-1]
        there = growth.limit_bytes
        too_much = there is not None and series.values[-1] + more > there
        beyond = ", more than there is" if too_much else ""
        yield Finding(
            Cause.MEMORY_LEAK if too_much else Cause.CLEAN_EXIT,
            f"`{holding.kept.name}` fills up to its bound: {size(full)} when it is full{beyond}",
            (
                f"it has a bound of {bound_of(holding.kept):,}: memory grows until it is full, by {size(max(0, more))} more",
                *((f"the process holds {size(series.values[-1])} of {size(there)} now",) if there is not None else ()),
            ),
            ("make the bound smaller, or the elements (`uint8` instead of `float32`)",)
            if too_much
            else ("nothing, where it fits",),
            Confidence.LIKELY,
            place(line_of(holding, growth)),
            (held_words(holding),),
            level=Level.PROBLEM if too_much else Level.NOTE,
            holder=holding.kept.name,
            bytes_per_step=round(holding.per_step),
        )


def _touched(growth: Growth) -> Iterator[Finding]:
    """Memory that had been asked for before the steps, and is filled by them."""
    grown = whole_of(growth)
    if grown is None or not is_first_touch(growth, grown.rise):
        return
    asked = asked_bytes(growth, grown.rise) or 0
    each = round(excused(growth, grown.rise).touched)
    yield Finding(
        Cause.CLEAN_EXIT,
        f"memory that was asked for before is filled: {size(each)} a step since step {grown.since_step}",
        (
            f"the process came to hold {size(grown.grown_bytes)} more, and asked the system for "
            f"{f'only {size(asked)}' if asked >= ASKED_BYTES else 'no more'}: pages of an array that was made before come when "
            "they are first written to",
        ),
        ("nothing, where the whole array fits",),
        Confidence.LIKELY,
        level=Level.NOTE,
        bytes_per_step=each,
    )


def _cached(growth: Growth) -> Iterator[Finding]:
    """A cache of tf.data in its first epoch."""
    grown = whole_of(growth)
    caches = caches_filled(growth, grown.rise) if grown is not None else []
    if grown is None or not caches:
        return
    each = sum(cache.bytes_each for cache in caches)
    share = min(100, round(100 * each / max(1, grown.per_step)))
    yield Finding(
        Cause.CLEAN_EXIT,
        f"a `cache()` of tf.data fills: {size(grown.per_step)} a step since step {grown.since_step}",
        (
            f"it gets {size(each)} with each element of the dataset, by their types: {share} % of the growth",
            "its first epoch had not ended: what it will take is not known, nor is a smaller leak beside it; run two epochs",
        ),
        (
            "nothing, where the whole data set fits",
            'cache what is smaller (before `map(decode)`, as `uint8`), or in a file: `ds.cache("cache")`',
        ),
        Confidence.LIKELY,
        place(caches[0].frame),
        level=Level.NOTE,
        bytes_per_step=grown.per_step,
    )


def _full_bytes(holding: Holding) -> int | None:
    bound, count = bound_of(holding.kept), holding.kept.counts[-1]
    if bound is None or not count or count >= bound:
        return None
    return holding.kept.sizes_bytes[-1] * bound // count
