"""The evidence of a recorded run, and whether its growth can be judged at all.

Covers: reading a recording; which of its processes and steps are told (`_worst.py`); why growth was not checked: no steps, too
few of them, nothing that changed.
Does not cover: judging it (the rules). Growth that cannot be judged is no section: its reason is in `absent`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from crashcart.blackbox.read import read_recording
from crashcart.evidence import Evidence
from crashcart.growth import Growth, Series
from crashcart.leaks._clear import not_clear
from crashcart.leaks._leak import memory_of, memory_trend
from crashcart.leaks._next import NOT_WATCHED, not_python
from crashcart.leaks._worst import PROCESSES, seen_from_outside, worst
from crashcart.trend import GONE, LEAST_STEPS, TooShort
from crashcart.units import KIB, plural, size

STILL_BYTES, STILL_BLOCKS = 256 * KIB, 256
"""What the looks alone were seen to move in a loop that only counts and sleeps: 124 KiB, 138 blocks. The first look is left out:
after it, the modules that look at names are loaded, which took 460 KiB where they began a new arena of Python's heap."""
WORKING = frozenset({"marked", "keras batch", "optimizer step"})
"""Steps that are work by what they are: the program says so, or a model is trained by them."""
BUSY = 0.2
"""Of the time of its steps: a program that used its processor for so long works, and holds its memory steady; one that sleeps
was seen to use 0.02."""
LEAST_COVERED = 0.6
"""Of the steps, up to the last look. What came after it may have been given back."""
NOTHING = "nothing was measured inside the program: it ended before its first look"


def collect(folder: Path) -> Evidence:
    """All that the recording holds."""
    return judgeable(read_recording(folder))


def judgeable(evidence: Evidence) -> Evidence:
    """The evidence as the rules may see it: of several processes the worst; without growth where that cannot be judged, and
    with the reason."""
    growth = evidence.growth
    if growth is None:
        return replace(evidence, absent={**evidence.absent, "growth": why_not(None, _why_absent(evidence)) or ""})
    if evidence.samples and evidence.program is not None:
        growth = seen_from_outside(growth, evidence.samples, evidence.program.started_unix_s)
    busy = _busy(growth, evidence)
    told = worst(growth, partial(why_not, busy=busy))
    reason = why_not(told, busy=busy)
    if reason is not None:
        return replace(evidence, growth=None, absent={**evidence.absent, "growth": reason})
    series = tuple(_while_stepping(each) for each in told.series)
    return replace(evidence, growth=replace(told, series=series))


def _why_absent(evidence: Evidence) -> str | None:
    """Why nobody measured anything."""
    known, program = evidence.absent.get("growth"), evidence.program
    if known or program is None:
        return known
    return not_python(program) if program.hooked is False else NOT_WATCHED if program.hooked else None


def _busy(growth: Growth, evidence: Evidence) -> float | None:
    """Which share of the time of its steps the program used a processor; None where nobody knows."""
    program, stepped, began = evidence.program, growth.stepped_s, growth.began_unix_s
    if program is None or stepped is None or began is None or not evidence.samples:
        return None
    first_s, last_s = (each + began - program.started_unix_s for each in stepped)
    seen = [(each.at_s, each.cpu_s) for each in evidence.samples if each.cpu_s is not None]
    inside = [each for each in seen if first_s <= each[0] <= last_s]
    if len(inside) < 2:
        return None
    (from_s, used_s), (to_s, used_by_then_s) = inside[0], inside[-1]
    return (used_by_then_s - used_s) / (to_s - from_s) if to_s > from_s else None


def _while_stepping(series: Series) -> Series:
    """Counts without a last look at which things were gone: by then, the loop had been left, or the program was ending."""
    gone = series.unit == "count" and len(series.values) > 2 and series.values[-1] < GONE * series.values[-2]
    return replace(series, steps=series.steps[:-1], values=series.values[:-1]) if gone else series


def why_not(growth: Growth | None, absent: str | None = None, busy: float | None = None) -> str | None:
    """Why growth cannot be judged; None where it can."""
    if growth is None:
        return absent or NOTHING
    steps = growth.steps
    if steps is None:
        why = growth.lacking.get("steps", "nothing was found that the program does again and again")
        if PROCESSES in growth.lacking:  # it only started others
            return growth.lacking[PROCESSES]
        children = growth.lacking.get("children")
        return f"{children}; in that one, {why}" if children is not None else why
    if steps.count < LEAST_STEPS:
        return (
            f"the program ended after {plural(steps.count, 'step')} ({steps.name}); at least {LEAST_STEPS} are needed"
        )
    found = memory_trend(growth)
    if isinstance(found, TooShort):
        return f"{plural(steps.count, 'step')} ({steps.name}) were seen, but of its memory {found.reason}"
    series = memory_of(growth)
    if series is not None and series.steps[-1] < LEAST_COVERED * steps.count:
        return f"only the first {series.steps[-1]:,} of {plural(steps.count, 'step')} ({steps.name}) were looked at"
    over = f"over {plural(steps.count, 'step')} ({steps.name})"
    still = (
        f"memory stayed within {size(STILL_BYTES)} {over}, and nothing shows that they do any work: they may not be the "
        "steps of this program, or allocate nothing"
    )
    if not _is_still(growth) or steps.kind in WORKING or (busy is not None and busy >= BUSY):
        return None
    return next(not_clear(growth), still)  # what ran beside these steps, or after them, says more


def _is_still(growth: Growth) -> bool:
    """Whether nothing moved by more than the looks themselves take."""
    moved = ((memory_of(growth), STILL_BYTES), (growth.named("blocks"), STILL_BLOCKS))
    later = ((each.values[1:], most) for each, most in moved if each is not None)
    return all(max(values, default=0) - min(values, default=0) <= most for values, most in later)
