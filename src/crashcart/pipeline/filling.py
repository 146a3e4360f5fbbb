"""How long it takes until the buffers are full, or until the memory is used up: from the rates that were measured.

Covers: the first buffer or cache from the source upwards that holds the most. Does not cover: bytes (`estimate.py`).
"""

from __future__ import annotations

from crashcart.pipeline import _shared as about
from crashcart.stages import Ground, Held, Settings, Stage


def filling(root: Stage, rows: tuple[Held, ...], settings: Settings, ground: Ground) -> Stage | None:
    """The stage whose buffer is the largest of those that fill by themselves."""
    largest = max(
        (each for each in rows if each.kind in ("buffer", "cache")), key=lambda each: each.bytes, default=None
    )
    if largest is None:
        return None
    return next((each for each in root.walk() if about.label(each, settings, ground) == largest.label), None)


def fill_s(stage: Stage, count: int, settings: Settings, ground: Ground) -> float | None:
    """Seconds until it has so many elements; None where no rate was measured below it."""
    rate = rate_per_s(stage.input, settings, ground) if stage.input is not None else None
    return count / rate if rate else None


def rate_per_s(stage: Stage | None, settings: Settings, ground: Ground) -> float | None:
    """Elements in a second: the rate of one call after the other, as often as calls run side by side."""
    each: Stage | None = stage
    while each is not None:
        if each.rate_per_s:
            at_once, _ = about.calls(each, settings, ground)
            return each.rate_per_s * max(1, min(at_once, ground.cores))
        if each.name not in about.PASSING:
            return None
        each = each.input
    return None
