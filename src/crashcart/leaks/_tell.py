"""What the rules of this room share to say a leak: its figures, its holder, and whether it is explained already.

Covers: making findings, sentences with figures. Does not cover: which growth is real (`_leak.py`) or who is to blame
(the rules).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crashcart.evidence import Frame, place
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.growth import Growth
from crashcart.leaks._holders import Holding, holdings, is_share, main_holding, main_site, per_step_of
from crashcart.leaks._leak import Leak, leak_of, memory_of
from crashcart.units import plural, size

INSIDE = "it has as many elements as before, and these hold more after each step"
MAIN_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Blame:
    """What a rule has to say besides the figures."""

    what: str
    """The rest of the headline: `history` keeps tensors."""
    why: str
    remedy: Sequence[str]
    frame: Frame | None
    facts: Sequence[str] = ()


def held_finding(holding: Holding, growth: Growth, blame: Blame) -> Finding | None:
    """A leak that a named container holds; None where it holds too little of the growth or more than there is, or the process
    does not grow."""
    leak = leak_of(growth)
    if leak is None or not is_share(holding, leak.per_step):
        return None
    share = holding.per_step / max(1, leak.per_step)
    sure = leak.confidence if share >= MAIN_SHARE else Confidence.LIKELY
    return Finding(
        Cause.MEMORY_LEAK,
        f"{grows(leak)}: {blame.what}",
        (blame.why, *blame.facts, *memory_facts(growth, leak), *_share(holding, leak)),
        tuple(blame.remedy),
        sure,
        place(blame.frame),
        (held_words(holding),),
        holder=holding.kept.name,
        bytes_per_step=leak.per_step,
    )


def counted_finding(growth: Growth, blame: Blame, holding: Holding | None = None) -> Finding:
    """What was made anew and is still alive, by its count: a problem where memory grows and no container holds that
    already."""
    leak = leak_of(growth)
    held = main_holding(growth, leak.per_step) if leak is not None else None
    main = leak is not None and (held is None or (holding is not None and holding.kept == held.kept))
    return Finding(
        Cause.MEMORY_LEAK,
        f"{grows(leak)}: {blame.what}" if leak is not None else blame.what,
        (blame.why, *blame.facts, *(memory_facts(growth, leak) if leak is not None else ())),
        tuple(blame.remedy),
        (leak.confidence if main else Confidence.LIKELY) if leak is not None else Confidence.LIKELY,
        place(blame.frame),
        (held_words(holding),) if holding is not None else (),
        level=Level.PROBLEM if main else Level.RISK,
        holder=holding.kept.name if holding is not None else None,
        bytes_per_step=leak.per_step if leak is not None and main else None,
    )


def held_by(growth: Growth, keeps: str) -> Iterator[Holding]:
    """The containers of one kind that a rule speaks of: the main one, and others that do not hold the same things."""
    leak = leak_of(growth)
    main = main_holding(growth, leak.per_step) if leak is not None else None
    if main is not None and main.keeps == keeps:
        yield main
    for each in holdings(growth):
        if main is not None and each is not main and each.keeps == keeps and not _is_same(each, main):
            yield each


def _is_same(holding: Holding, main: Holding) -> bool:
    """Whether it is another way to what the main one holds, or a part of the way."""
    same_fill = holding.kept.filled_at is not None and holding.kept.filled_at == main.kept.filled_at
    alike = abs(holding.per_step - main.per_step) <= 0.3 * main.per_step
    return alike or same_fill or main.kept.name.startswith(f"{holding.kept.name}.")


def grows(leak: Leak) -> str:
    """`memory grows by 7.60 MiB a step since step 12`."""
    return f"memory grows by {size(leak.per_step)} a step since step {leak.since_step}"


def memory_facts(growth: Growth, leak: Leak) -> Iterator[str]:
    """What was measured."""
    series, steps = memory_of(growth), growth.steps
    if series is None or steps is None:
        return
    before, after = size(leak.level_bytes - leak.grown_bytes - leak.beside_bytes), size(leak.level_bytes)
    what = "its own memory" if series.name == "private" else "resident memory"
    yield (
        f"{what}: {before} → {after} from step {leak.since_step} to {series.steps[-1]} ({steps.name}), never given back; "
        f"between {size(leak.low + leak.beside_per_step)} and {size(leak.high + leak.beside_per_step)} a step"
    )
    if leak.beside_per_step:
        yield f"{size(leak.beside_per_step)} a step of that go into what fills up and ends by itself: the rest is the leak"


def held_words(holding: Holding) -> str:
    """`history` (list in train.py, main): 10,000 → 10,340 EagerTensors."""
    kept = holding.kept
    scope = f" in {kept.scope}" if kept.scope else ""
    head = f"{kept.name} ({kept.kind}{scope})"
    if holding.counts is not None:
        return f"{head}: {holding.counts.first:,} → {holding.counts.last:,} {items(kept.item)}"
    return f"{head}: {size(kept.sizes_bytes[0])} → {size(kept.sizes_bytes[-1])}"


def items(item: str | None) -> str:
    """Elements in the plural."""
    if not item:
        return "elements"
    if " view of " in item:
        return item.replace(" view of ", " views of ", 1)
    head, blank, rest = item.partition(" ")
    if head.endswith("s"):
        return item
    many = f"{head[:-1]}ies" if re.search("[^aeiou]y$", head) else f"{head}s"
    return f"{many}{blank}{rest}"


def _share(holding: Holding, leak: Leak) -> Iterator[str]:
    each = holding.item_bytes
    share = holding.per_step / max(1, leak.per_step)
    part = f"{round(100 * share)} % of {'that rest' if leak.beside_per_step else 'the growth'}"
    if each is not None and holding.counts is not None:
        yield f"{plural(holding.counts.grown, 'element')} of {size(round(each))} came: {part}"
    else:
        yield f"it took {part}"


def tensor_facts(growth: Growth) -> Iterator[str]:
    """The live tensors, where they became more."""
    counts, sizes = growth.named("tensors"), growth.named("tensor_bytes")
    if counts is None or len(counts.values) < 2 or counts.values[-1] <= counts.values[0]:
        return
    held = f" with {size(sizes.values[0])} → {size(sizes.values[-1])}" if sizes is not None else ""
    yield f"live tensors: {counts.values[0]:,} → {counts.values[-1]:,}{held}"


def site_facts(growth: Growth) -> Iterator[str]:
    """What survives by lines, where no name is known."""
    site = main_site(growth)
    if site is not None:
        yield (
            f"of what {site.frame.spot} allocated in {plural(site.steps, 'step')}, {plural(site.count, 'object')} with "
            f"{size(site.bytes)} are still there: {size(round(per_step_of(site)))} a step"
        )
