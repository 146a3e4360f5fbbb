"""When a GPU that fills up is worth a word: a pure decision from one device's figures, tested as a table.

Covers: the first rungs of the ladder for each device, a warning with last words, with hysteresis; a device whose driver no
longer answers.
Does not cover: refusing and raising. An allocation that does not fit on a device fails with an exception of the framework
by itself, and no process is killed for it. Nor what goes on inside a framework's own pool, which the driver cannot see.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

NEAR_SHARE, CALM_SHARE = 0.92, 0.80
"""So full is nearly full; a device must fall below the lower share before it can be so again."""
POOL_SHARE = 0.6
"""A device of which so much was taken between two looks was taken whole, as TensorFlow does by default: 93 % to 98 % at
its first use, whatever the model needs. A pool that doubles as it grows takes half a device at once at the most."""
AGAIN_S = 60.0
"""A device that fills and empties with every step is told of once in this time."""


class GpuStep(Enum):
    """What is to be done about one device now."""

    WARN = "gpu-warn"
    POOL = "gpu-pool"
    """Full, because it was taken whole: for the recording alone."""
    AGAIN = "gpu-again"
    """Full again soon after a warning: for the recording alone."""
    LOST = "gpu-lost"


@dataclass(frozen=True, slots=True)
class GpuView:
    """One device at one moment, over all processes."""

    at_s: float
    used_bytes: int
    total_bytes: int

    @property
    def share(self) -> float:
        """How full it is."""
        return self.used_bytes / max(1, self.total_bytes)


@dataclass(frozen=True, slots=True)
class GpuState:
    """What is remembered of one device between two looks."""

    view: GpuView | None = None
    full: bool = False
    warned_at_s: float = float("-inf")
    lost: bool = False


def decide(state: GpuState, view: GpuView | None) -> tuple[GpuState, GpuStep | None]:
    """One look at one device; None where it did not answer."""
    if view is None:
        news = state.view is not None and not state.lost
        return replace(state, lost=True), GpuStep.LOST if news else None
    before, state = state.view, replace(state, view=view, lost=False)
    if state.full or view.share < NEAR_SHARE:
        return replace(state, full=state.full and view.share >= CALM_SHARE), None
    state = replace(state, full=True)
    if before is not None and view.used_bytes - before.used_bytes >= POOL_SHARE * view.total_bytes:
        return state, GpuStep.POOL
    if view.at_s - state.warned_at_s < AGAIN_S:
        return state, GpuStep.AGAIN
    return replace(state, warned_at_s=view.at_s), GpuStep.WARN
