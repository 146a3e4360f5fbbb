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
class Bounds:
    """A figure and the interval it is said to lie in."""

    bytes: int
    low_bytes: int
    high_bytes: int


@dataclass(frozen=True, slots=True)
class Moment:
    """What is held while one operation runs, by kind; a point of the picture of a step."""

    at: str
    held: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change of the model or of how it is run, and what the same step takes then, estimated in the same way."""

    name: str
    """mixed precision, accumulation, …"""
    peak_bytes: int
    """Of the target that the memory is compared with."""
    how: str
    """What to type."""
    note: str | None = None
    """What it costs: time, precision."""
    batch: int | None = None
    """The batch of each pass, where it is not the step's own."""
    high_bytes: int | None = None
    """The upper bound of the peak; None where the peak was given without one."""


@dataclass(frozen=True, slots=True)
class Verified:
    """One real run at a batch under a limit, in a child."""

    batch: int
    limit_bytes: int
    lived: bool
    peak_bytes: int | None = None
    how: str = ""
    """How it was held to the limit, and how it ended."""


@dataclass(frozen=True, slots=True)
class StepPeak:
    """The peak of one step at one batch, as estimated, and the memory there is for it. The unqualified figures are those of
    the device's allocator."""

    phase: str
    """train, evaluate or predict"""
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
    """The largest batch whose upper bound stays below what is available, or whose operations can wait for memory so that it runs
    under it, or that lived in a real run; 0 where none does, None where it was not sought, or where real runs refuted it."""
    seconds: float | None = None
    """How long the estimate at this batch took."""
    search_seconds: float | None = None
    """How long the search for the largest batch took, besides."""
    method: str = "traced"
    """traced (nothing was run), or measured (small real steps, extrapolated)"""
    host: Bounds | None = None
    """How much the process grows on the host, over the moment before the model is built."""
    target: str = "device"
    """Which figure is compared with the memory available: device or host."""
    moments: tuple[Moment, ...] = ()
    """The step in time, thinned out to a few hundred points; the peak is always among them."""
    remedies: tuple[Remedy, ...] = ()
    """Those that were estimated, the most effective first."""
    verified: Verified | None = None
    """The real run that decides: that of the largest batch that lived; the last one where all died."""
    runs: tuple[Verified, ...] = ()
    """All real runs, in their order."""
    assumed: tuple[str, ...] = ()
    """What had to be assumed, such as the size of a dimension that the model leaves open."""
    places: Mapping[str, str] = field(default_factory=dict)
    """The names of operations in words that a user knows, such as conv2d_3 (backward)."""
    methods: Mapping[str, Bounds] = field(default_factory=dict)
    """The compared figure by method, where it was found in more than one way."""
    larger_may_fit: bool = False
    """Whether the largest batch is only the largest that was seen to fit: the search was cut, or knows nothing beyond it."""
    likely_batch: int | None = None
    """The largest batch whose figure itself stays below what is available, though its upper bound may not; None where that was
    not sought, and after real runs."""
    fixed_batch: int | None = None
    """The only batch that the model takes, where its own code says one."""
    smallest: Bounds | None = None
    """The compared figure at a batch of 1, where no batch surely fits and that is known."""

    @property
    def compared(self) -> Bounds | None:
        """The figure that is compared with the memory available; None where that one could not be estimated."""
        return self.host if self.target == "host" else Bounds(self.peak_bytes, self.low_bytes, self.high_bytes)

    @property
    def fits(self) -> bool | None:
        """What real runs showed; else whether the largest batch that fits is as large, or the upper bound is below what is
        available. None where that is not known, or lies between the bounds."""
        compared, there = self.compared, self.available_bytes
        if compared is None or there is None:
            return None
        if self.died is not None or self.lived:
            return self.died is None
        if self.runs:  # smaller ones lived, larger ones died
            return None
        if self.largest_batch is not None and self.batch <= self.largest_batch:
            return True
        return None if compared.low_bytes <= there < compared.high_bytes else compared.high_bytes <= there

    @property
    def none_fits(self) -> bool:
        """Whether a batch of 1 does not fit, either, not only perhaps: it died, or takes more than there is by its figure."""
        if self.largest_batch != 0 or self.available_bytes is None or self.fixed_batch is not None:
            return False
        if any(each.batch == 1 and not each.lived for each in self._all_runs()):
            return True
        known = self.smallest.bytes > self.available_bytes if self.smallest is not None else None
        return self.fits is False if known is None else known

    @property
    def died(self) -> Verified | None:
        """The smallest real run that died at this batch or below it; None where none did."""
        deaths = (each for each in self._all_runs() if not each.lived and each.batch <= self.batch)
        return min(deaths, key=lambda each: each.batch, default=None)

    @property
    def lived(self) -> bool:
        """Whether a real run lived at this batch or above it."""
        return any(each.lived and each.batch >= self.batch for each in self._all_runs())

    def _all_runs(self) -> tuple[Verified, ...]:
        return self.runs or ((self.verified,) if self.verified is not None else ())

    @property
    def round_batch(self) -> int | None:
        """The largest power of two that fits; None where none does, or that is not known."""
        return 1 << (self.largest_batch.bit_length() - 1) if self.largest_batch else None

    @property
    def even_batch(self) -> int | None:
        """The largest divisor of the batch that fits: so many parts make the same step. None as above."""
        most = self.largest_batch or 0
        pairs = ((each, self.batch // each) for each in range(1, int(self.batch**0.5) + 1) if self.batch % each == 0)
        return max((each for pair in pairs for each in pair if each <= most), default=None)
