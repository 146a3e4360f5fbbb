"""A program's growth in words, for every form of a report.

Covers: the verdict in a line, what was watched and what was not, rows of tables. Does not cover: layout (`leaks.py`,
`leaks.html.j2`). Names and lines are the user's own, and are still untrusted here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crashcart.evidence import Ending
from crashcart.finding import Cause, Finding, Level, Report
from crashcart.growth import Growth, Series
from crashcart.report.words import number
from crashcart.units import duration, plural, size

NAMES = {
    "rss": "resident memory",
    "private": "own memory",
    "blocks": "Python's blocks",
    "python": "Python's heap",
    "traces": "traces",
    "graphs": "function graphs",
    "variables": "variables",
    "models": "models",
    "layers": "layers",
    "operations": "graph operations",
    "sessions": "sessions",
    "functions": "Python functions in graphs",
    "threads": "threads",
    "descriptors": "open files",
    "children": "child processes",
    "shmem": "shared memory",
    "data": "memory asked for",
    "tensors": "live tensors",
    "tensor_bytes": "bytes of live tensors",
}
_FAR_STEPS = 1_000_000
_NEAR = 0.1
"""A program that was ended by a signal with so few of its steps left, in proportion, was ended by its limit."""
_MOST_SECONDS = 30 * 86400.0


@dataclass(frozen=True, slots=True)
class Row:
    """One series, as a row of a table."""

    name: str
    first: str
    last: str
    per_step: str
    rises: bool


def leaking(report: Report) -> Finding | None:
    """The finding that says a leak, or that one may come of it."""
    return next((each for each in report.findings if each.level is not Level.NOTE), None)


def headline(report: Report) -> str:
    """`leak: +7.60 MiB a step since step 12`, `no leak was seen …`, `not checked: …`."""
    finding = leaking(report)
    figures = report.figures
    if finding is not None:
        each, since = finding.bytes_per_step, figures.get("since_step")
        if finding.level is Level.RISK and since is None:
            return f"memory does not rise yet, but {finding.headline}"
        if each is None or finding.cause is not Cause.MEMORY_LEAK or since is None:
            return f"leak: {finding.headline}"
        return f"leak: +{size(each)} a step since step {since}"
    reasons = not_checked(report)
    if reasons:
        return f"not checked, because {reasons[0]}"
    return f"no leak was seen: {below(figures)}"


def death(report: Report, ending: Ending | None = None) -> str:
    """`at the limit of 2.80 GiB it dies in about 280 steps (4 min)`; empty where nobody knows a limit, or it is far."""
    figures = report.figures
    limit, left = number(figures.get("limit_bytes")), number(figures.get("steps_to_limit"))
    if limit is None or left is None or left > _FAR_STEPS:
        return ""
    count = number((figures.get("steps") or {}).get("count")) or 0.0
    if ending is not None and ending.kind == "signal" and left <= _NEAR * count:
        return f"it died at its limit of {size(int(limit))}"
    seconds = number(figures.get("seconds_to_limit"))
    when = f" ({_about(seconds)})" if seconds is not None and seconds < _MOST_SECONDS else ""
    if left < 1:
        return f"it is at its limit of {size(int(limit))} now"
    return f"at the limit of {size(int(limit))} it dies in about {plural(_rounded(left), 'step')}{when}"


def below(figures: dict[str, Any]) -> str:
    """`over 400 batches of model.fit memory grew by less than 12.0 KiB a step`."""
    steps = figures.get("steps") or {}
    over = f"over {steps.get('count', 0):,} steps ({steps.get('name', '')})"
    most = number(figures.get("below_bytes_per_step"))
    return f"{over}, a growth of {size(int(most))} a step or more would have been seen" if most is not None else over


def not_checked(report: Report) -> list[str]:
    """Why this is no all-clear."""
    reasons = report.figures.get("not_checked")
    return [str(each) for each in reasons] if isinstance(reasons, list) else []


def next_steps(report: Report) -> list[str]:
    """What to type where nothing could be checked."""
    found = report.figures.get("next")
    return [str(each) for each in found] if isinstance(found, list) else []


def watched(growth: Growth) -> str:
    """What was looked at, how often."""
    looks = max((len(each.steps) for each in growth.series), default=0)
    names = [NAMES.get(each.name, each.name) for each in growth.series]
    cost = f"; the looks took {duration(growth.cost_s)}" if growth.cost_s is not None else ""
    return f"{looks} looks at {', '.join(names[:6])}{' and more' if len(names) > 6 else ''}{cost}"


def lacking(growth: Growth) -> list[str]:
    """What could not be looked at, and why."""
    return [f"{what}: {why}" for what, why in growth.lacking.items()]


def rows(growth: Growth, figures: dict[str, Any]) -> list[Row]:
    """A row for each series."""
    known = {each["name"]: each for each in figures.get("series", ()) if isinstance(each, dict)}
    return [_row(each, known.get(each.name, {})) for each in growth.series if each.values]


def _row(series: Series, figure: dict[str, Any]) -> Row:
    def words(value: float) -> str:
        return size(round(value)) if series.unit == "bytes" else f"{value:,.0f}"

    each = number(figure.get("per_step"))
    rate = (
        ""
        if each is None
        else f"+{size(round(each))}"
        if series.unit == "bytes"
        else f"+{each:,.0f}"
        if each >= 10
        else f"+{each:.2g}"
    )
    return Row(NAMES.get(series.name, series.name), words(series.values[0]), words(series.values[-1]), rate, bool(rate))


def sentence(report: Report) -> str:
    """The answer for a page without findings."""
    reasons = not_checked(report)
    return f"not checked, because {reasons[0]}" if reasons else f"no leak was seen: {below(report.figures)}"


def title(report: Report) -> str:
    """The heading of a page."""
    end = death(report) if leaking(report) is not None else ""
    return f"{headline(report)}; {end}" if end else headline(report)


def glance(growth: Growth) -> list[tuple[str, str, str]]:
    """The few figures that a reader wants first."""
    found: list[tuple[str, str, str]] = []
    if growth.steps is not None:
        found.append(("Steps", f"{growth.steps.count:,}", growth.steps.name))
    memory = growth.named("private") or growth.named("rss")
    if memory is not None and memory.values:
        found.append(("At the last step", size(memory.values[-1]), f"{size(memory.values[0])} at the first look"))
    return found


def _rounded(count: float) -> int:
    """With two digits: more are not known."""
    unit = int(10 ** max(0, len(str(int(count))) - 2))
    return round(count / unit) * unit


def _about(seconds: float) -> str:
    step = 1 if seconds < 100 else 60 if seconds < 7200 else 600
    return duration(max(1.0, round(seconds / step) * step))
