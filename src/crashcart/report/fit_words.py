"""The estimate of a step in words, for every form of a report.

Covers: the verdict, the batch, what is held, where the peak is, remedies, how it was found and how sure that is.
Does not cover: layout (`fit.py`, `fit.html.j2`) or the picture (`fit_chart.py`). Names of operations are the user's own, and
still untrusted here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from crashcart.step import Bounds, HeldTensor, Remedy, StepPeak, Verified
from crashcart.units import duration, size

KINDS = {
    "weights": "weights",
    "optimizer": "optimizer",
    "gradients": "gradients",
    "activations": "activations",
    "update": "update",
    "input": "input",
    "scratch": "scratch",
    "constant": "constants",
    "other": "other",
}
"""In the order in which they are told."""
_LEAST_SHOWN_BYTES = 64 << 10
_LEAST_SAVED = 0.02
_CLEARLY_MORE = 1.05
_VARIABLES = ("weights", "optimizer")
_WITH_UNIT = re.compile(r"(?<=\d) (?=[KMGT]?i?B)")


@dataclass(frozen=True, slots=True)
class TensorRow:
    """One of the largest tensors at the peak."""

    size: str
    kind: str
    place: str
    operation: str
    share: float
    """Of the largest one."""


@dataclass(frozen=True, slots=True)
class RemedyRow:
    """One remedy that was estimated."""

    name: str
    saved: str
    size: str
    note: str
    how: str
    fits: bool | None


def span(bounds: Bounds) -> str:
    """`4.90 … 5.50 GiB`, with the unit once where it is one."""
    low, high = size(bounds.low_bytes), size(bounds.high_bytes)
    unit = high.rpartition(" ")[2]
    return f"{low.removesuffix(f' {unit}')} … {high}"


def verdict(step: StepPeak) -> str:
    """fits, may not fit, does not fit; empty where nobody knows how much there is."""
    if step.available_bytes is None or step.compared is None:
        return ""
    return {True: "fits", False: "does not fit", None: "may not fit"}[step.fits]


def peak(step: StepPeak) -> str:
    """`peak 5.10 GiB (4.90 … 5.50 GiB) of 7.80 GiB available`."""
    compared = step.compared or Bounds(step.peak_bytes, step.low_bytes, step.high_bytes)
    there = f" of {size(step.available_bytes)} available" if step.available_bytes is not None else ""
    return f"peak {size(compared.bytes)} ({span(compared)}){there}"


def title(step: StepPeak) -> str:
    """The whole answer in a line."""
    said = verdict(step)
    words = f"A {step.phase} step at batch {step.batch}{f' {said}' if said else ''}: {peak(step)}"
    return _WITH_UNIT.sub("\u00a0", words)


def largest(step: StepPeak) -> str:
    """`the largest batch that fits is 104`; empty where it was not sought."""
    if step.largest_batch is None:
        return ""
    if step.largest_batch:
        return f"the largest batch that fits is {_at_least(step)}"
    if step.fixed_batch is not None:
        return f"the model takes batches of {step.fixed_batch} alone"
    return "not even a batch of 1 fits" if step.none_fits else "no batch surely fits"


def _at_least(step: StepPeak) -> str:
    return f"at least {step.largest_batch}" if step.larger_may_fit else str(step.largest_batch)


def liked(step: StepPeak) -> str:
    """Batches near the largest: one that likely fits where that is clearly larger, and those that people like: `64 is the nearest
    power of two below`."""
    most, likely, found = step.largest_batch, step.likely_batch or 0, []
    if most is not None and likely > _CLEARLY_MORE * most:
        found.append(f"{likely} likely fits, but not surely (`crashcart fit --verify` tells)")
    if most and step.round_batch and step.round_batch < most:
        found.append(f"{step.round_batch} is the nearest power of two below {most}")
    even = step.even_batch
    if most and even and most < step.batch and even > 1 and even != step.round_batch:
        found.append(f"{even} goes into {step.batch} {step.batch // even} times")
    return "; ".join(found)


def kinds(step: StepPeak) -> list[tuple[str, int]]:
    """What is held at the peak by kind, without what is too small to matter."""
    known = {**dict.fromkeys(KINDS, 0), **step.kinds}
    return [(KINDS.get(kind, kind), count) for kind, count in known.items() if count >= _LEAST_SHOWN_BYTES]


def place(step: StepPeak, name: str) -> str:
    """An operation in words that a user knows."""
    return step.places.get(name, name)


def tensors(step: StepPeak) -> list[TensorRow]:
    """The largest tensors at the peak."""
    most = max((each.bytes for each in step.largest), default=1)
    return [_tensor(step, each, most) for each in step.largest]


def _tensor(step: StepPeak, held: HeldTensor, most: int) -> TensorRow:
    where = place(step, held.name)
    own = held.name.rpartition("/")[2] if "/" in held.name and held.kind not in _VARIABLES else ""
    return TensorRow(size(held.bytes), held.kind, where, own, held.bytes / max(1, most))


def remedies(step: StepPeak) -> list[RemedyRow]:
    """The remedies, each with what it saves."""
    compared = step.compared
    return [_remedy(each, compared, step) for each in step.remedies] if compared else []


def _remedy(remedy: Remedy, compared: Bounds, step: StepPeak) -> RemedyRow:
    saved = 1 - remedy.peak_bytes / max(1, compared.bytes)
    at = f" at batch {remedy.batch}" if remedy.batch and remedy.batch != step.batch else ""
    high = remedy.high_bytes
    if high is None:  # as wide above as the step's own
        high = int(remedy.peak_bytes * max(1.0, compared.high_bytes / max(1, compared.bytes)))
    enough = None if step.available_bytes is None else high <= step.available_bytes
    name = remedy.name if at.strip() in remedy.name else remedy.name + at
    note = remedy.note or ""
    percent = f"\N{MINUS SIGN}{100 * saved:.0f} %" if saved >= _LEAST_SAVED else "\N{EN DASH}"
    return RemedyRow(name, percent, size(remedy.peak_bytes), note, remedy.how, enough)


def memory(step: StepPeak) -> str:
    """What the figure is a figure of, and the other one where it tells something."""
    device = Bounds(step.peak_bytes, step.low_bytes, step.high_bytes)
    where = f" ({step.available_in})" if step.available_in else ""
    if step.target == "host":
        grows, tensors = f"what the process grows by on the host{where}", f"{size(device.bytes)} ({span(device)})"
        if device.bytes <= (step.compared or device).bytes:
            return f"{grows}, {tensors} of it for tensors"
        return f"{grows}; on a device, TensorFlow's allocator takes {tensors}"
    if step.host is not None and step.available_in in ("given", "container", "machine"):
        grows = f"{size(step.host.bytes)} ({span(step.host)})"
        return f"TensorFlow's allocator alone{where}; on a host without a GPU the process grows by {grows}"
    return f"TensorFlow's allocator on the device{where}"


def method(step: StepPeak) -> str:
    """How the figure was found, and how long that took."""
    took = f", in {duration(step.seconds)}" if step.seconds is not None else ""
    if step.search_seconds is not None:
        took += f" (the largest batch: {duration(step.search_seconds)} more)"
    if step.method == "measured":
        return f"measured: small real steps were run in a child, and extrapolated{took}"
    if "measured" in step.methods:
        return f"traced, and compared with small real steps that were run in a child{took}"
    if step.verified is not None:
        return f"traced{took}; real steps were run in a child to verify it"
    return f"traced: nothing of the step was run{took}"


def agreement(step: StepPeak) -> str:
    """Both figures where there are two; empty where there is one."""
    if len(step.methods) < 2:
        return ""
    return ", ".join(f"{name} {size(each.bytes)} ({span(each)})" for name, each in step.methods.items())


def verified(step: StepPeak) -> str:
    """What real runs under the limit did, the one that decides first; empty where there was none."""
    run = step.verified
    if run is None:
        return ""
    peak_words = f", {size(run.peak_bytes)} at its peak" if run.peak_bytes is not None else ""
    how = f" ({run.how})" if run.how else ""
    end = "lived" if run.lived else "died: take less"
    others = (f"; batch {each.batch} {_ended(each)}" for each in step.runs if each != run)
    decides = f"a real step at batch {run.batch}, held to {size(run.limit_bytes)}, {end}{peak_words}{how}"
    return decides + "".join(others)


def _ended(run: Verified) -> str:
    return "lived" if run.lived else f"died ({run.how})" if run.how else "died"


def glance(step: StepPeak) -> Iterator[tuple[str, str, str]]:
    """The few figures that a reader wants first: name, figure, remark."""
    compared = step.compared or Bounds(step.peak_bytes, step.low_bytes, step.high_bytes)
    yield "Peak", size(compared.bytes), span(compared)
    if step.available_bytes is not None:
        yield "Available", size(step.available_bytes), step.available_in or ""
    if step.largest_batch is not None:
        remarks = ("" if step.largest_batch else largest(step), liked(step))
        yield "Largest batch", _at_least(step), "; ".join(each for each in remarks if each)
    yield (
        "Step",
        f"{step.phase}, batch {step.batch}",
        f"{step.method} in {duration(step.seconds)}" if step.seconds else "",
    )


def facts(step: StepPeak) -> list[tuple[str, str]]:
    """The rest, a row each."""
    rows = [
        ("batch", "; ".join(each for each in (largest(step), liked(step)) if each)),
        ("the figure is", memory(step)),
        ("held at the peak", " · ".join(f"{kind} {size(count)}" for kind, count in kinds(step))),
        ("the peak is at", place(step, step.at)),
        ("operation", step.at),
        ("verified", verified(step)),
        *(("assumed" if index == 0 else "", each) for index, each in enumerate(step.assumed)),
        ("how", method(step)),
        ("both ways", agreement(step)),
    ]
    return [(name, value) for name, value in rows if value]


def sentence(step: StepPeak) -> str:
    """What a reader wants to know after the title."""
    at = f"the peak is at {place(step, step.at)}" if step.at else ""
    return "; ".join(each for each in (largest(step), at) if each) or method(step)
