"""One step of a model: what it takes at its peak, and what there is. A section of the evidence (`evidence.py`).

Covers: plain frozen data. Does not cover: estimating (`fit/`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HeldTensor:
    """One tensor at the peak."""

    name: str
    kind: str
    bytes: int


@dataclass(frozen=True, slots=True)
class StepPeak:
    """The peak of one step at one batch, as estimated, and the memory there is for it."""

    phase: str
    """train or predict"""
    batch: int
    peak_bytes: int
    low_bytes: int
    high_bytes: int
    kinds: Mapping[str, int] = field(default_factory=dict)
    """Bytes held at the peak by kind: weights, optimizer, gradients, activations, update, input, scratch, other."""
    at: str = ""
    """The operation that runs at the peak."""
    largest: tuple[HeldTensor, ...] = ()
    available_bytes: int | None = None
    available_in: str | None = None
    """Where that memory is: container, machine, a GPU's name, or given."""
    largest_batch: int | None = None
    """The largest batch whose upper bound stays below what is available; 0 where none does, None where it was not sought."""
    seconds: float | None = None
    """How long the estimate took."""
