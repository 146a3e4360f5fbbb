"""The estimate of a step in words.

Covers: lines for a terminal. Does not cover: printing them (`cli/fit.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.report.safe import flat
from crashcart.step import StepPeak
from crashcart.units import duration, size

_ORDER = ("weights", "optimizer", "gradients", "activations", "update", "input", "scratch", "constant", "other")
_LEAST_SHOWN_BYTES = 64 << 10


def lines(step: StepPeak) -> Iterator[str]:
    """The peak and whether it fits; what it is made of; where it is; how sure that is."""
    yield f"peak {size(step.peak_bytes)} ({size(step.low_bytes)} … {size(step.high_bytes)}){_of(step)}"
    shown = [(kind, step.kinds.get(kind, 0)) for kind in _ORDER]
    yield "  " + " · ".join(f"{kind} {size(count)}" for kind, count in shown if count >= _LEAST_SHOWN_BYTES)
    yield f"  peak is at {flat(step.at)}; the largest tensors then:"
    for each in step.largest:
        yield f"    {size(each.bytes):>9}  {each.kind:<11}  {flat(each.name)}"
    took = f", in {duration(step.seconds)}" if step.seconds is not None else ""
    yield f"  {step.phase} step at batch {step.batch}; traced and walked, nothing of it was run{took}"
    yield "  device memory; what the process takes besides (imports, libraries, data) is not in it"


def _of(step: StepPeak) -> str:
    there = step.available_bytes
    if there is None:
        return ""
    verdict = "fits" if step.high_bytes <= there else "may not fit" if step.low_bytes <= there else "does not fit"
    batch = step.largest_batch
    most = (
        ""
        if batch is None
        else f"; the largest batch that fits is {batch}"
        if batch
        else "; not even a batch of 1 fits"
    )
    return f" of {size(there)} available ({step.available_in}): {verdict}{most}"
