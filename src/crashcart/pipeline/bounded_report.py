"""What was changed so that a pipeline stays within its budget: as figures, and as text.

Covers: the `report` of a bounded dataset and the warning for what its reader may notice. Does not cover: deciding it
(`bounded_plan`).
"""

from __future__ import annotations

from dataclasses import dataclass

from crashcart.units import size


class BoundedWarning(UserWarning):
    """Something that can be noticed was changed: a shuffle mixes less, a cache is gone from memory. Or a stage has no bound."""


@dataclass(frozen=True, slots=True)
class Change:
    """One stage that is not as it was written."""

    stage: str
    what: str
    """In words: `buffer of 12000 elements, now 2000`."""
    before_bytes: int | None
    after_bytes: int
    notable: bool = False
    """Whether it can be noticed otherwise than by speed and memory: randomness, files on disk."""

    def __str__(self) -> str:
        before = "an unknown amount" if self.before_bytes is None else size(self.before_bytes)
        return f"{self.stage}: {self.what} ({before} → {size(self.after_bytes)})"


@dataclass(frozen=True, slots=True)
class BoundedReport:
    """How a dataset was bounded. All sizes are upper bounds of what the stages hold at once."""

    budget_bytes: int
    budget_from: str
    """given, or where the room is: container, machine"""
    wanted_bytes: int | None
    """What the pipeline as it was written may hold; None where that has no known end."""
    held_bytes: int
    constant_bytes: int
    """Of the budget, what sources hold in tensors that exist already; 0 where the budget is what is left beside them."""
    changes: tuple[Change, ...]
    notes: tuple[str, ...]
    measured: bool
    """Whether sizes of elements were measured on a few of them, as their shapes do not say it."""
    unbounded: tuple[str, ...] = ()
    """Stages that may hold more than the budget, with the reason: nothing is promised for them."""

    def __str__(self) -> str:
        wanted = "has no known end" if self.wanted_bytes is None else f"may hold {size(self.wanted_bytes)}"
        besides = " besides what nobody can bound" if self.unbounded else ""
        lines = [
            f"holds at most {size(self.held_bytes)}{besides} of a budget of {size(self.budget_bytes)} ({self.budget_from}); "
            f"as written it {wanted}"
        ]
        lines += [f"  not bounded: {each}" for each in self.unbounded]
        if self.constant_bytes > 1 << 20:
            lines.append(f"  {size(self.constant_bytes)} of the budget are tensors of its sources, which exist already")
        lines += [f"  {each}" for each in self.changes] or ["  nothing had to be changed but options"]
        lines += [f"  note: {each}" for each in self.notes]
        if self.measured:
            lines.append(
                "  note: shapes are open, so sizes are those of a few elements with a margin of 25 %, not a certainty"
            )
        return "\n".join(lines)

    __repr__ = __str__
