"""The figures of `crashcart leaks` that other programs read, at the top level of the JSON document.

Covers: names and units as in docs/schema-1.json; what is not known is null. Fields are added, never renamed.
Does not cover: the document around them (`report/json.py`).
"""

from __future__ import annotations

from typing import Any

from crashcart.evidence import Evidence
from crashcart.finding import Level, Report
from crashcart.growth import Growth, Series
from crashcart.leaks._clear import least_seen, not_clear
from crashcart.leaks._excused import Excused, excused
from crashcart.leaks._leak import (
    LEAST_BYTES_PER_HOUR,
    Leak,
    grown_of,
    has_ended,
    is_slow,
    leak_of,
    least_bytes,
    memory_of,
    memory_trend,
    rise_of,
)
from crashcart.leaks._next import next_for
from crashcart.trend import ANY_FALLS, Trend, climb, trend
from crashcart.units import size


def figures(evidence: Evidence, report: Report) -> dict[str, Any]:
    """All of them."""
    growth = evidence.growth
    if growth is None:
        reason = evidence.absent.get("growth", "growth was not measured")
        return {"not_checked": [reason], "next": next_for(reason, evidence)}
    leak = leak_of(growth)
    found = memory_trend(growth)
    return {
        "steps": None if growth.steps is None else _steps(growth),
        **_leak(growth, leak),
        "below_bytes_per_step": least_seen(growth) if leak is None else None,
        "trend": found.reason if leak is not None or not isinstance(found, Trend) else _harmless(growth, found),
        "limit_bytes": growth.limit_bytes,
        "process_bytes": _last(memory_of(growth)),
        "series": [_series(each) for each in growth.series],
        "not_checked": _not_checked(growth, report),
        "lacking": dict(growth.lacking),
        "precise": growth.precise,
        "cost_seconds": growth.cost_s,
    }


def _harmless(growth: Growth, found: Trend) -> str:
    """Why a rise is no leak all the same."""
    each = size(round(found.per_step))
    if is_slow(growth, found.per_step):
        return f"it rises by {each} a step, and by less than {size(LEAST_BYTES_PER_HOUR)} in an hour"
    ends = excused(growth, rise := rise_of(found))
    if ends.is_most(rise):
        return f"it rises by {each} a step, as {_filled(ends)}"
    if grown_of(growth) is not None and has_ended(growth):
        return f"it rose by {each} a step in a loop that has ended"
    return (
        f"it rose by {size(round(found.grown))} since step {found.since_step}, which is too little, or too uneven, to tell it "
        "from what allocators keep; a longer run tells"
    )


def _filled(ends: Excused) -> str:
    """What it is that ends by itself."""
    if ends.bounded >= max(ends.touched, ends.cached):
        return "buffers fill up to their bounds"
    if ends.touched >= ends.cached:
        return "memory that had been asked for before is filled"
    return "a `cache()` of tf.data fills in its first epoch"


def _steps(growth: Growth) -> dict[str, Any]:
    steps = growth.steps
    assert steps is not None
    return {"kind": steps.kind, "name": steps.name, "count": steps.count, "seconds_each": steps.seconds_each}


def _leak(growth: Growth, leak: Leak | None) -> dict[str, Any]:
    names = (
        "bytes_per_step",
        "low_bytes_per_step",
        "high_bytes_per_step",
        "since_step",
        "steps_to_limit",
        "seconds_to_limit",
    )
    if leak is None:
        return dict.fromkeys(names)
    left = leak.steps_left(growth.limit_bytes) if not has_ended(growth) else None
    each_s = growth.steps.seconds_each if growth.steps is not None else None
    seconds = left * each_s if left is not None and each_s is not None else None
    return dict(zip(names, (leak.per_step, leak.low, leak.high, leak.since_step, left, seconds), strict=True))


def _last(series: Series | None) -> int | None:
    return series.values[-1] if series is not None and series.values else None


def _series(series: Series) -> dict[str, Any]:
    rise = _rise(series)
    return {
        "name": series.name,
        "unit": series.unit,
        "first": series.values[0] if series.values else None,
        "last": _last(series),
        "looks": len(series.values),
        "rises": rise is not None,
        "per_step": rise,
    }


def _rise(series: Series) -> float | None:
    """How much comes with each step, where it goes up to the end: of bytes by their trend, of counts by their first and last."""
    if series.unit == "bytes":
        found = trend(series.steps, series.values, least_bytes(series))
        return found.per_step if isinstance(found, Trend) else None
    rise = climb(series.steps, series.values, 1, ANY_FALLS)
    return None if rise is None else rise.per_step


def _not_checked(growth: Growth, report: Report) -> list[str]:
    """What keeps a run in which nothing was found from being an all-clear."""
    if any(each.level is not Level.NOTE for each in report.findings):
        return []
    return list(not_clear(growth))
