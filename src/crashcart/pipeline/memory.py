"""The whole answer on one pipeline: estimate, time until it is full, changes.

Covers: putting the parts of this room together. Does not cover: judging (the rules).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from crashcart.pipeline import _shared as about
from crashcart.pipeline.change import changes
from crashcart.pipeline.estimate import Estimate, estimate
from crashcart.pipeline.filling import fill_s, filling
from crashcart.stages import BUILT, Ground, Held, Pipeline, PipelineMemory


def memory_of(
    pipeline: Pipeline,
    ground: Ground,
    available_bytes: int | None = None,
    available_in: str | None = None,
    built_bytes: int | None = None,
    assumed: Iterable[str | None] = (),
) -> PipelineMemory:
    """What it holds on that ground, beside the memory there is."""
    found = estimate(pipeline, ground)
    built = built_bytes or 0
    before = (Held("arrays and tensors built before", BUILT, "tensors", built, built),) if built else ()
    memory = PipelineMemory(
        pipeline,
        (*found.rows, *before),
        found.held_bytes + built,
        found.high_bytes + built,
        built_bytes,
        found.unknown,
        available_bytes,
        available_in,
        ground,
        endless=next((about.label(each) for each in about.endless_caches(pipeline.root)), None),
        assumed=(*(each for each in assumed if each), *pipeline.notes),
    )
    memory = replace(memory, fill_s=_until(memory, found))
    return replace(memory, changes=changes(memory))


def _until(memory: PipelineMemory, found: Estimate) -> float | None:
    """Until the memory there is is used up; where it suffices, until the largest buffer is full."""
    ground = memory.ground
    found_in = ((filling(root, found.rows, each, ground), each) for root, each in memory.pipeline.parts)
    stage, settings = next((each for each in found_in if each[0] is not None), (None, memory.pipeline.settings))
    row = max(
        (each for each in found.rows if each.kind in ("buffer", "cache")), key=lambda each: each.bytes, default=None
    )
    if stage is None or row is None or not row.count:
        return None
    whole = fill_s(stage, row.count, settings, ground)
    if whole is None or memory.available_bytes is None or memory.fits is not False or not row.bytes:
        return whole
    before = memory.held_bytes - row.bytes
    share = min(1.0, max(0.0, (memory.available_bytes - before) / row.bytes))
    return whole * share
