"""Of all that was measured of a run, what is to be told: the worst.

Covers: other processes that were watched, steps of another kind that came later, what was seen from outside after the last
step. Does not cover: whether something can be judged at all (`collect.py`), why it is no all-clear (`_clear.py`), or what is
said of it (the rules).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from crashcart.growth import After, Growth
from crashcart.leaks._leak import leak_of
from crashcart.sample import Sample

CHILDREN, PROCESSES, LATER = "children", "processes", "later steps"
SHORT_S = 1.0
"""A process that ended sooner asked for a version, or started another."""
WhyNot = Callable[[Growth], str | None]


def worst(growth: Growth, why_not: WhyNot) -> Growth:
    """What is to be told of a run: the process that leaks most, else one that can be judged."""
    found = [_worst_phase(each, why_not) for each in (replace(growth, others=()), *growth.others)]
    reasons = {each.pid: why_not(each) for each in found}
    told = min(found, key=lambda each: (reasons[each.pid] is not None, -_leaking(each, reasons[each.pid])))
    rest = [
        f"another process (pid {each.pid}) was not checked: {reason}"
        for each in found
        if each is not told and (reason := reasons[each.pid]) is not None and (each.ended_s or 0.0) >= SHORT_S
    ]
    said = [*rest, *((growth.lacking[PROCESSES],) if PROCESSES in growth.lacking else ())]
    lacking = {name: why for name, why in told.lacking.items() if name != PROCESSES}
    return replace(told, lacking={**lacking, PROCESSES: "; ".join(said)} if said else lacking)


def _worst_phase(growth: Growth, why_not: WhyNot) -> Growth:
    """The steps, or those that came after them, where these leak and the former do not; or a loop that came before, where
    only that can be judged."""
    earlier, later = growth.earlier, growth.later
    if earlier is not None and (reason := why_not(growth)) is not None and why_not(earlier) is None:
        lacking = {**growth.lacking, LATER: f"what came after the {_steps_name(earlier)} was not checked: {reason}"}
        return replace(earlier, later=replace(growth, earlier=None), lacking=lacking)
    if later is None or leak_of(growth) is not None or why_not(later) is not None or leak_of(later) is None:
        return growth
    return replace(later, lacking=growth.lacking, earlier=growth)


def _steps_name(growth: Growth) -> str:
    return growth.steps.name if growth.steps is not None else "steps"


def _leaking(growth: Growth, reason: str | None) -> int:
    """How much it grew, where that is a leak."""
    leak = leak_of(growth) if reason is None else None
    return leak.grown_bytes if leak is not None else 0


def seen_from_outside(growth: Growth, samples: tuple[Sample, ...], started_unix_s: float) -> Growth:
    """The growth with what samples from outside say of the time after the last step: nobody looks inside then."""
    after, stepped, began = growth.after, growth.stepped_s, growth.began_unix_s
    if after is None or stepped is None or began is None or not samples:
        return growth
    last_s, first_s = stepped[1] + began - started_unix_s, stepped[0] + began - started_unix_s
    late_s = first_s + 0.75 * (last_s - first_s)
    end_s = _end_s(growth, samples[-1].at_s + started_unix_s - began)
    seen = [(each.at_s, _held(each)) for each in samples if each.at_s <= end_s + began - started_unix_s]
    before = [held for at_s, held in seen if held is not None and at_s <= last_s]
    during = [held for at_s, held in seen if held is not None and late_s <= at_s <= last_s] or before[-1:]
    later = [held for at_s, held in seen if held is not None and at_s > last_s]
    grown = max(later) - max(during) if during and later else None
    most = max((each for each in (after.grown_bytes, grown) if each is not None), default=None)
    return replace(growth, after=After(max(after.seconds, end_s - stepped[1]), most), ended_s=end_s)


def _end_s(growth: Growth, sampled_s: float) -> float:
    """When the program's own code ended. An interpreter that was left in order may take seconds to be taken down."""
    in_order = growth.cost_s is not None
    return growth.ended_s if in_order and growth.ended_s is not None else max(growth.ended_s or 0.0, sampled_s)


def _held(sample: Sample) -> int | None:
    return sample.touched_bytes if sample.touched_bytes is not None else sample.rss_bytes
