"""What the looks over a program's steps say of its growth, for a program that died of memory.

Covers: growth that went on to the end, with the name that holds it and its line as `leaks` names them (`holding.py`).
Does not cover: the verdict; nor programs that live (`leaks/`). No rule is declared here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from crashcart.evidence import Frame, Growth, Sample
from crashcart.holding import LEAST_SHARE, Holding, line_of, main_holding, main_site, per_step_of
from crashcart.trend import Trend, trend
from crashcart.units import MIB, size

LEAST_BYTES = 16 * MIB
"""What a program dies of is more than that; see `leaks/` for how little is worth a word while it lives."""


@dataclass(frozen=True, slots=True)
class Grew:
    """Growth with each step."""

    steps_name: str
    found: Trend
    holding: Holding | None
    frame: Frame | None

    def words(self) -> Iterator[str]:
        """What was measured."""
        each, since = size(round(self.found.per_step)), self.found.since_step
        yield f"memory grew by {each} with each of the {self.steps_name} since step {since}, and was never given back"
        kept = self.holding.kept if self.holding is not None else None
        if kept is not None and self.holding is not None and self.holding.counts is not None:
            what, counts = f" ({kept.item})" if kept.item else "", self.holding.counts
            yield f"`{kept.name}` went from {counts.first:,} to {counts.last:,} elements{what}"


LEAST_OF_PEAK = 0.7
"""What the steps had brought by their last look, of the peak. Joining what a loop collected doubles it, after the loop."""


def grew_with_steps(growth: Growth | None, pid: int | None, samples: tuple[Sample, ...]) -> Grew | None:
    """The growth of the process over its steps, where it went on to the end, and the end came of it."""
    watched = (growth, *growth.others) if growth is not None else ()
    growth = next((each for each in watched if pid is None or each.pid == pid), None)
    if growth is None or growth.steps is None:
        return None
    series = growth.named("private") or growth.named("rss")
    found = trend(series.steps, series.values, LEAST_BYTES) if series is not None else None
    peak = max((each.rss_bytes for each in samples if each.rss_bytes is not None), default=0)
    if series is None or not isinstance(found, Trend) or series.values[-1] < LEAST_OF_PEAK * peak:
        return None
    holding = main_holding(growth, found.per_step)
    return Grew(growth.steps.name, found, holding, _line(growth, holding, found))


def _line(growth: Growth, holding: Holding | None, found: Trend) -> Frame | None:
    if holding is not None:
        return line_of(holding, growth)
    site = main_site(growth)
    return site.frame if site is not None and per_step_of(site) >= LEAST_SHARE * found.per_step else None
