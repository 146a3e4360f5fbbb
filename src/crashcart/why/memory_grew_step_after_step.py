"""W107 memory-grew-step-after-step."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crashcart.evidence import (
    ChildEnd,
    Ending,
    ErrorRecord,
    Growth,
    Holder,
    HolderNote,
    KernelLog,
    Machine,
    Program,
    Sample,
    StackDump,
    place,
)
from crashcart.finding import Cause, Confidence, Finding, Where
from crashcart.rule import Rank, rule
from crashcart.units import duration, size
from crashcart.why._growth import (
    Grown,
    Rise,
    ended_inside_loop,
    final_rise,
    growing_holder,
    imported_until_s,
    is_looped,
    is_stepping,
)
from crashcart.why._kill import FULL_FRACTION, dumps_of, fullness
from crashcart.why._oom import Scene
from crashcart.why._place import held_words, last_place
from crashcart.why._steps import Grew, grew_with_steps
from crashcart.why._words import who

LEAST_SHARE = 0.25
"""A container that explains less of the growth than this is not named as its cause."""
CLEAR_SHARE = 0.6
"""A container that was seen to gain many elements, and holds this share of the growth, shows the steps by itself."""


@rule("W107", "memory-grew-step-after-step", Rank.ROOT)
def memory_grew_step_after_step(
    ending: Ending,
    samples: tuple[Sample, ...],
    stacks: tuple[StackDump, ...],
    program: Program | None = None,
    machine: Machine | None = None,
    kernel_log: KernelLog | None = None,
    holders: tuple[HolderNote, ...] | None = None,
    children: tuple[ChildEnd, ...] | None = None,
    errors: tuple[ErrorRecord, ...] | None = None,
    growth: Growth | None = None,
) -> Iterator[Finding]:
    """Memory grew with every step of a loop until it ran out.

    ## What it means

    Each pass of a loop kept something alive: tensors or arrays appended to a list, a model or function built anew, a
    cache without a bound. A larger machine only dies later.

    ## How we know

    The program ended for lack of memory; before that its memory rose in many even parts over seconds, while the main
    thread was seen at different places of a loop (one large allocation rises within a single call); or a named
    container was seen to gain many elements, or an object to be larger at each look, that make up most of the growth;
    the line named then is one that fills it. A last step after the loop, such as joining the parts, is not blamed on
    the loop. Where the run was watched step by step (`crashcart leaks`), its looks say it outright.

    ## What to do

    Keep numbers instead of tensors (`float(loss)`), write results to disk as they come, build models and functions once
    before the loop, bound caches (`lru_cache(maxsize=…)`). `crashcart leaks` shows the growth step by step.
    """
    scene = Scene(ending, program, machine, kernel_log, samples, stacks, holders, children)
    if scene.shown() is None and not _refused(scene, errors):
        return
    grew = grew_with_steps(growth, scene.pid(), samples)
    found = _watched(grew, scene) if grew is not None else _seen_from_outside(scene, samples, stacks)
    if found is not None:
        yield found


def _seen_from_outside(scene: Scene, samples: tuple[Sample, ...], stacks: tuple[StackDump, ...]) -> Finding | None:
    """By the shape of the rise, by where the main thread was meanwhile, and by what its names held."""
    pid, holders = scene.pid(), scene.holders
    dumps = dumps_of(stacks, pid)
    rise = final_rise(samples, imported_until_s(dumps))
    if rise is None or not ended_inside_loop(dumps, rise, samples):
        return None
    grown = growing_holder(holders, pid)
    share = grown.after.bytes / max(1, rise.grown_bytes) if grown is not None else 0.0
    stepped = rise.steady and is_looped(dumps) and is_stepping(dumps, rise.start_s, rise.end_s)
    if not stepped and not (grown is not None and share >= CLEAR_SHARE and grown.in_steps):
        return None
    named = grown if share >= LEAST_SHARE else None
    filled = _growing_place(dumps, rise, named.after) if named is not None else None
    return Finding(
        Cause.MEMORY_LEAK,
        f"{who(scene.program)} ran out of memory: each step of a loop kept more of it",
        tuple(_facts(scene, rise, named)),
        (
            _remedy(named.after if named is not None else None),
            "build models, datasets and tf.functions once, before the loop; bound caches and histories",
        ),
        Confidence.LIKELY,
        filled or last_place(stacks, pid, scene.ending),
        held_words(holders, scene.ending),
    )


def _watched(grew: Grew, scene: Scene) -> Finding:
    name = grew.holding.kept.name if grew.holding is not None else None
    shown = scene.shown()
    return Finding(
        Cause.MEMORY_LEAK,
        f"{who(scene.program)} ran out of memory: each step kept more of it",
        (*grew.words(), *((shown[2], *scene.story(shown[0])[:1]) if shown is not None else ())),
        (
            f"do not keep `{name}` in memory: keep plain numbers (`float(x)`), or write each result to disk"
            if name is not None
            else "build models, datasets and tf.functions once, before the loop; bound caches and histories",
            "crashcart leaks RECORD says more of the growth; `crashcart list` has the name of the recording",
        ),
        Confidence.CERTAIN if grew.found.clear and shown is not None else Confidence.LIKELY,
        place(grew.frame) or last_place(scene.stacks, scene.pid(), scene.ending),
        held_words(scene.holders, scene.ending),
        holder=name,
        bytes_per_step=round(grew.found.per_step),
    )


def _refused(scene: Scene, errors: tuple[ErrorRecord, ...] | None) -> bool:
    """Whether an allocation failed while memory was full."""
    full = fullness(scene.samples, scene.machine.memory_limit() if scene.machine is not None else None)
    if full is None or full < FULL_FRACTION:
        return False
    return any(not error.names().isdisjoint({"MemoryError", "ResourceExhaustedError"}) for error in errors or ())


def _facts(scene: Scene, rise: Rise, grown: Grown | None) -> Iterator[str]:
    yield (
        f"memory rose from {size(rise.low_bytes)} to {size(rise.high_bytes)} in {duration(rise.seconds)}, "
        "in many parts, while the loop went on"
    )
    if grown is not None:
        yield grown.words()
    shown = scene.shown()
    if shown is not None:
        kind, _, evidence = shown
        yield evidence
        yield from scene.story(kind)[:1]


def _remedy(holder: Holder | None) -> str:
    what = f"`{holder.name}`" if holder is not None else "what each step leaves behind"
    if holder is not None and holder.kind == "lru_cache":
        return f"bound the cache of {what}: `@lru_cache(maxsize=1000)`, or keep the results on disk"
    return f"do not keep {what} in memory: keep plain numbers (`float(x)`), or write each result to disk"


def _growing_place(dumps: list[StackDump], rise: Rise, holder: Holder) -> Where | None:
    """The line seen in the loop that puts something into the growing container; else the only one that the source
    has."""
    name = re.escape(holder.name.rpartition(".")[2])
    grows = re.compile(
        rf"\b{name}\s*(?:\.(?:append|extend|add|insert|put|update|setdefault|push)\b|\[[^\]]*\]\s*=|\+=)"
        + (rf"|\b{name}\s*=[^=]" if holder.count is None else "")
    )
    for dump in dumps:
        for stack in dump.stacks:
            for frame in reversed(stack.frames) if rise.start_s <= dump.at_s <= rise.end_s + 1 else ():
                if frame.own and frame.source and grows.search(frame.source):
                    return place(frame)
    return place(holder.filled_at)
