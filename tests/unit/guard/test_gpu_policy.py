"""The GPU's rungs of the ladder as a table, with nothing of the world in it."""

from __future__ import annotations

import pytest

from crashcart.guard.gpu_policy import AGAIN_S, GpuState, GpuStep, GpuView, decide
from crashcart.units import GIB

TOTAL = 16 * GIB
WARN, POOL, AGAIN, LOST = GpuStep.WARN, GpuStep.POOL, GpuStep.AGAIN, GpuStep.LOST
LATER = int(AGAIN_S)


def steps(*percents: float | None, every_s: float = 1.0) -> list[GpuStep | None]:
    """What is done at each look at a device that is so full."""
    state, taken = GpuState(), []
    for number, percent in enumerate(percents):
        view = None if percent is None else GpuView(number * every_s, int(percent / 100 * TOTAL), TOTAL)
        state, step = decide(state, view)
        taken.append(step)
    return taken


@pytest.mark.parametrize(
    ("percents", "expected", "reason"),
    [
        ([0, 50, 85, 91], [None] * 4, "rightful use is never disturbed"),
        ([50, 95], [None, WARN], "nearly full"),
        ([95], [WARN], "full before the program began: somebody else holds it"),
        ([50, 95, 95, 100], [None, WARN, None, None], "once per shortage"),
        ([50, 95, 85, 95], [None, WARN, None, None], "no flutter at the edge"),
        ([50, 95, 79, 95], [None, WARN, None, AGAIN], "soon again: for the recording alone"),
        ([50, 95, *[70] * LATER, 95], [None, WARN, *[None] * LATER, WARN], "again after a fall and a rise"),
        ([3, 96], [None, POOL], "taken whole at the first use, as TensorFlow does"),
        ([3, 96, 70, 95], [None, POOL, None, WARN], "what comes after the pool counts"),
        ([44, 94], [None, WARN], "a pool that doubled takes half a device at once"),
        ([20, 95], [None, POOL], "the rest of a device that others use a little"),
        ([50, None, None], [None, LOST, None], "a device that is lost is told of once"),
        ([None, 50], [None, None], "one that never answered is not lost"),
        ([50, None, 95], [None, LOST, WARN], "one that answers again is followed on"),
        ([50, None, 50, None], [None, LOST, None, LOST], "and can be lost again"),
    ],
)  # fmt: skip
def test_what_is_done_at_each_look(percents: list[float | None], expected: list[GpuStep | None], reason: str) -> None:
    assert steps(*percents) == expected, reason


def test_a_device_without_a_size_is_not_full() -> None:
    assert decide(GpuState(), GpuView(0.0, 0, 0))[1] is None
