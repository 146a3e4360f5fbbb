"""Whether a run in which nothing was found is an all-clear, and how small a leak would have been seen.

Covers: what went unseen (other processes, what ran after the last step), what rises and is not explained by what ends by itself.
Does not cover: whether something can be judged at all (`collect.py`), or what is a leak (`_leak.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from crashcart.growth import Growth, Series
from crashcart.leaks._excused import Rise, excused, leads_to_bounded
from crashcart.leaks._holders import Holding, holdings
from crashcart.leaks._leak import (
    LEAST_AFTER_S,
    LONGEST_AFTER,
    grown_of,
    has_ended,
    is_slow,
    least_bare_bytes,
    least_bytes,
    memory_of,
    memory_trend,
    rise_of,
    rose_after,
    unseen_buffer,
)
from crashcart.leaks._worst import CHILDREN, LATER, PROCESSES
from crashcart.trend import NoTrend, TooShort, Trend, trend
from crashcart.units import duration, plural, size

PARTS, LEAST_OF_PART, LEAST_RISES = 8, 1 / 16, 3
"""Of the steps, and what each of the last four parts has to bring of what is worth a word: a plateau does not. One of them may
have gone unseen, where looks are few."""


def least_seen(growth: Growth) -> int | None:
    """Growth by this much with each step would have been told, or kept from an all-clear, whether or not anything explains it:
    over half the run, it brings what bare growth needs, and it stands out of what comes along with buffers that fill."""
    series, found = memory_of(growth), memory_trend(growth)
    if series is None or isinstance(found, TooShort) or has_ended(growth):
        return None
    bare = least_bare_bytes(series.values[-1]) / max(1.0, (series.steps[-1] - series.steps[0]) / 2)
    if isinstance(found, NoTrend):
        return round(max(found.below, bare))
    ends = excused(growth, rise_of(found))
    return round(max(max(ends.along, found.high - found.low) if ends.is_most(rise_of(found)) else found.high, bare))


def not_clear(growth: Growth) -> Iterator[str]:
    """Why a growth in which nothing was found is no all-clear."""
    if CHILDREN in growth.lacking:
        yield growth.lacking[CHILDREN]
    if PROCESSES in growth.lacking:
        yield growth.lacking[PROCESSES]
    children = growth.named(CHILDREN)
    beside = children is not None and sum(map(bool, children.values)) > len(children.values) / 2
    if children is not None and beside and not {CHILDREN, PROCESSES} & set(growth.lacking):
        some = plural(max(children.values), "child process", "child processes")
        yield f"{some} ran beside it, and only its first process was watched"
    if LATER in growth.lacking:
        yield growth.lacking[LATER]
    else:
        yield from _after(growth)
    yield from _resident(growth)
    yield from _beside(growth)
    yield from _unevenly(growth)
    yield from _reused(growth)


def _after(growth: Growth) -> Iterator[str]:
    """What came after the last step, where nobody counted."""
    part = growth.later if growth.later is not None and _is_judged(growth.later) else growth
    after, series, steps = part.after, memory_of(part), part.steps
    if after is None or series is None or steps is None:
        return
    if rose_after(part) and after.grown_bytes is not None:
        yield (
            f"memory rose by {size(after.grown_bytes)} after the last step ({steps.name}); what ran then was not counted "
            "as steps"
        )
    elif after.seconds > max(LEAST_AFTER_S, LONGEST_AFTER * (growth.ended_s or 0.0)):
        yield (
            f"the last step ({steps.name}) came {duration(after.seconds)} before the end; what ran after it was not checked"
        )


def _is_judged(growth: Growth) -> bool:
    return growth.steps is not None and not isinstance(memory_trend(growth), TooShort)


def _resident(growth: Growth) -> Iterator[str]:
    """Resident memory that rises while the process's own does not: mapped files, which the kernel takes back, or memory that
    is shared. Where the latter was measured, it is in the process's own."""
    rss, own = growth.named("rss"), growth.named("private")
    if rss is None or own is None or growth.named("shmem") is not None:
        return
    found, plain = trend(rss.steps, rss.values, least_bytes(rss)), memory_trend(growth)
    if isinstance(found, Trend) and not isinstance(plain, Trend) and found.grown >= least_bare_bytes(rss.values[-1]):
        yield (
            f"resident memory rises by {size(round(found.per_step))} a step while the process's own does not: pages of "
            "mapped files, or memory that is shared"
        )


def _beside(growth: Growth) -> Iterator[str]:
    """What rises beside buffers that fill, and is more than comes along with them."""
    found, least = memory_trend(growth), least_seen(growth)
    if not isinstance(found, Trend) or least is None or is_slow(growth, found.per_step):
        return
    ends = excused(growth, rise_of(found))
    left = found.per_step - ends.per_step
    buffer = None if ends.is_most(rise_of(found)) else unseen_buffer(growth, left)
    if buffer is not None:
        yield (
            f"memory rises by {size(round(left))} a step while `{buffer.kept.name}` fills up to its bound, and what its elements "
            "hold was not seen to the bottom; a run until it is full tells"
        )
    elif ends.is_most(rise_of(found)) and left > least:
        yield (
            f"memory rises by {size(round(left))} a step beside what fills up and ends by itself, and no name is known that "
            "holds it; a run until that is full tells"
        )


def _unevenly(growth: Growth) -> Iterator[str]:
    """Memory that rose over the second half of the steps, up to the end, and shows no trend: it may settle, or the looks were
    too few, or a busy machine put them too far apart."""
    series = memory_of(growth)
    if series is None or has_ended(growth) or isinstance(memory_trend(growth), Trend) or grown_of(growth) is not None:
        return
    lows, least = _lowest(series), least_bare_bytes(series.values[-1])
    late = [lows[number] for number in range(PARTS // 2 - 1, PARTS) if number in lows]
    rises = [later - earlier for earlier, later in pairwise(late)]
    if len(rises) < LEAST_RISES or min(rises) < LEAST_OF_PART * least or sum(rises) < least:
        return
    half = (series.steps[-1] - series.steps[0]) / 2
    rise = Rise(round(series.steps[0] + half), sum(rises) / max(1.0, half), sum(rises))
    if not is_slow(growth, rise.per_step) and not excused(growth, rise).is_most(rise):
        yield (
            f"memory rose by {size(rise.grown_bytes)} over the second half of the steps, too unevenly to tell whether it goes "
            "on; a longer run tells"
        )


def _lowest(series: Series) -> dict[int, int]:
    """The least of each part of the steps that was looked at, by the part's number; the last look is left out, by which the loop
    may have been left."""
    first, span = series.steps[0], max(1, series.steps[-1] - series.steps[0])
    parts: dict[int, list[int]] = {}
    for step, value in zip(series.steps[:-1], series.values[:-1], strict=True):
        parts.setdefault(min(PARTS - 1, (step - first) * PARTS // span), []).append(value)
    return {number: min(values) for number, values in parts.items()}


def _reused(growth: Growth) -> Iterator[str]:
    """A container that came to hold much which the process does not show: it may have taken what the process had freed before."""
    series = memory_of(growth)
    if series is None or has_ended(growth) or grown_of(growth) is not None:
        return
    found = [(each, each.bytes.grown) for each in holdings(growth) if each.bytes is not None and _is_plain(each)]
    found = [each for each in found if each[1] >= least_bytes(series) and not is_slow(growth, each[0].per_step)]
    found = [each for each in found if each[0].kept.sizes_bytes[-1] <= max(series.values)]  # else others hold the same
    holding, grown = max(found, key=lambda each: each[1], default=(None, 0))
    if holding is not None and not leads_to_bounded(growth, holding):
        yield (
            f"`{holding.kept.name}` came to hold {size(grown)} more, to the last step, and the process did not grow by it: it "
            "reused memory that it had, or others hold the same; a longer run tells"
        )


def _is_plain(holding: Holding) -> bool:
    """Whether it has elements, no bound, and its bytes are its own: views share what they are cut from."""
    return holding.counts is not None and holding.keeps != "bounded" and "view" not in (holding.kept.item or "")
