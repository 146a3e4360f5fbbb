"""Growth as it is measured, made by hand: memory over the steps, names that were looked at, lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from crashcart.evidence import Frame
from crashcart.growth import Growth, Kept, Series, Steps
from crashcart.units import GIB, MIB

LOOKS = (10, 30, 60, 120, 180, 236)


def frame(line: int = 41, source: str | None = "history.append(loss)") -> Frame:
    return Frame("/home/ada/train.py", line, "main", source, own=True)


def memory(per_step: float = MIB, base: float = 600 * MIB, name: str = "private", count: int = 240) -> Series:
    steps = tuple(range(1, count + 1, 5))
    return Series(name, "bytes", steps, tuple(round(base + step * per_step) for step in steps))


def kept(
    name: str = "history", each: float = MIB, counts: Callable[[int], int | None] = lambda step: step, **more: Any
) -> Kept:
    counted = tuple(counts(step) for step in LOOKS)
    sizes = tuple(round(each * (step if count is None else count)) for step, count in zip(LOOKS, counted, strict=True))
    known = {
        "scope": "train.py, main",
        "kind": "list",
        "item": "EagerTensor",
        "filled_at": frame(),
        "chain": ("main", name),
    }
    return Kept(name, steps=LOOKS, counts=counted, sizes_bytes=sizes, **{**known, **more})


def growth(*series: Series, **more: Any) -> Growth:
    known = {"steps": Steps("tf.function call", "calls of train_step", 240, 0.1), "limit_bytes": 3 * GIB}
    return Growth(4711, **{**known, "series": series or (memory(),), **more})
