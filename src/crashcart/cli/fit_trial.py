"""Trials of a step in contained children: what it takes, measured at small batches, and whether one batch lives under a limit.

Covers: the measured estimate (`--probe`, and what is left where a step cannot be traced), and the confirmation of a batch by
a run (`--verify`). The model is built and run in children as the user would run it, from the same directory: what his builder
writes, it writes here too. A child's death is an answer.
Does not cover: how a child is held to a limit (`contained.py`), or the line through the points (`fit/measured.py`).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from crashcart.cli.child import retold
from crashcart.cli.contained import Ended, held, run, spare_bytes
from crashcart.cli.fit_ask import signal_name
from crashcart.errors import CannotCheckError
from crashcart.fit.measured import Line, Point, nearer_size, reconciled
from crashcart.probe.onednn import without_onednn
from crashcart.step import Bounds, StepPeak, Verified
from crashcart.units import size

__all__ = ["confirmed", "measured", "reconciled", "verified"]

# After a first step at each batch, which builds things. On the device, which of two operations ends first is chance, and the most
# counts. On the host the heap stands still after a few steps; `predict` keeps what its steps gave, so they must be as many as
# the estimate by the trace counts on.
_STEPS = {"device": 3, "host": 6}
# A larger batch is measured too where its steps take no more than this together: it shortens the way to the asked one.
_BUDGET_S = 20.0
# What a process with TensorFlow takes before any model is there; a little more than was measured (0.54 GB).
_PROCESS_BYTES = 1 << 30
# Of a batch that is confirmed, with the first. On the host the heap grows for a few more: three steps of VGG16 at batch 64 took
# 1.75 GB, seven 1.84.
VERIFY_STEPS = {"device": 3, "host": 7}
# Where a batch dies under the limit, these parts of it are tried next.
_LOWER = (0.9, 0.8)
# The largest batch that lived is no less than this part of what may live: larger ones are tried until one dies that is so near.
# By the estimate alone 5 of 23 models of the zoo had less, and on the host, whose bounds are wider, most (`bench.fit.largest`).
NEAR = 0.85
MOST_RUNS = 8
# Where batches above the one that likely fits live, too, the next step up is so many times as large; no more than to the double.
_UP, _MOST_UP = 1.35, 2.0

Progress = Callable[[str], None]


def measured(
    request: Mapping[str, Any], limit_bytes: int | None, timeout_s: float, progress: Progress | None = None
) -> StepPeak:
    """The peak of the step at the request's batch, from real steps at smaller ones; they never take more than the limit, nor
    more than is free here."""
    began_s = time.monotonic()
    most_bytes = min(spare_bytes(), sys.maxsize if limit_bytes is None else limit_bytes + _PROCESS_BYTES)
    device = tried(request, "device", most_bytes, timeout_s, progress)
    host, lacking = device if device.on_gpu else None, ""
    if host is None:
        try:
            left_s = timeout_s - (time.monotonic() - began_s)
            host = tried(request, "host", most_bytes, left_s, progress)
        except CannotCheckError as error:
            lacking = f"the host was not measured: {error}"
    found = _peak(request, device, host)
    assumed = (*found.assumed, lacking) if lacking else found.assumed
    return replace(found, assumed=assumed, seconds=time.monotonic() - began_s)


def verified(
    request: Mapping[str, Any],
    batch: int,
    limit_bytes: int,
    timeout_s: float,
    progress: Progress | None = None,
    growth: bool = False,
    steps: int | None = None,
) -> Verified:
    """A few real steps at that batch under the limit, which bounds what `request["target"]` says: the device's allocator, or the
    process on the host, all of it, or (`growth`) what it grows by after the moment before the model is built."""
    target = request.get("target") or "device"
    steps = steps or VERIFY_STEPS[target]
    spare = spare_bytes()
    asked = {"sizes": [batch], "steps": max(1, steps - 1), "plainly": target == "host"}
    if progress is not None:
        progress(f"running {steps} steps at batch {batch} under {size(limit_bytes)}")
    if target == "device":
        ended = _run(request, asked | {"device_limit_bytes": limit_bytes}, target, spare, None, False, timeout_s)
    else:
        ended = _run(request, asked, target, spare, limit_bytes, growth, timeout_s)
    seen = _Seen(ended)
    _raise_told(seen)
    if ended.by == "time":
        raise CannotCheckError(f"batch {batch} was not through after {timeout_s:.0f} s", "Give it more: --timeout.")
    died = seen.died()
    if died is None:
        before = (
            f", on top of {size(seen.before_bytes)} that the process had" if target == "host" and not growth else ""
        )
        how = f"{steps} steps ran in {ended.held}{before}"
        return Verified(batch, limit_bytes, True, seen.peak_bytes(target), how)
    if not seen.of_memory():
        raise CannotCheckError(f"the run at batch {batch} did not get to its end: {died}", _try_plainly(request))
    needed = limit_bytes + (seen.before_bytes if growth else 0)
    if ended.by == "limit" and (target == "device" or needed > spare):
        raise CannotCheckError(
            f"batch {batch} takes more than the {size(spare)} that are free here: nothing is known about {size(limit_bytes)}",
            "Confirm it on the machine that it is meant for.",
        )
    return Verified(batch, limit_bytes, False, None, f"{died}, in {ended.held}")


def confirmed(
    request: Mapping[str, Any],
    largest: int,
    likely: int,
    limit_bytes: int,
    timeout_s: float,
    progress: Progress | None = None,
    alone: bool = False,
) -> tuple[tuple[Verified, ...], str]:
    """All runs, the largest batch that fits first, until one lives and a slightly larger one dies. They share the time. Where one
    cannot be had after others could, those stand, and the reason is told."""
    until_s, trying = time.monotonic() + timeout_s, largest

    def run(batch: int) -> Verified:
        nonlocal trying
        trying = batch
        return verified(request, batch, limit_bytes, max(1.0, until_s - time.monotonic()), progress)

    runs, asked = list[Verified](), request.get("batch") or largest
    try:
        for each in [run(largest)] if alone else in_turn(largest, likely, asked, run):
            runs.append(each)
    except CannotCheckError as error:
        lacking = f"batch {trying} could not be tried: {error}"
        if not (runs or alone or trying == asked) and time.monotonic() < until_s:
            with suppress(
                CannotCheckError
            ):  # a model may take some batches and no others; the first reason is the one to tell
                runs.append(run(asked))
        if not runs:
            raise
        return tuple(runs), lacking
    return tuple(runs), ""


def in_turn(largest: int, likely: int, asked: int, run: Callable[[int], Verified]) -> Iterator[Verified]:
    """Run the largest batch that was estimated to fit, and go on from there; if it lives, with the one that likely fits."""
    lower = sorted({min(largest, asked), *(int(largest * part) for part in _LOWER)} - {0, largest}, reverse=True)
    runs, batch = list[Verified](), largest
    while batch and len(runs) < MOST_RUNS:
        runs.append(run(batch))
        yield runs[-1]
        batch = _next_batch(runs, lower, likely) or _undecided(runs, asked)


def _undecided(runs: Sequence[Verified], asked: int) -> int:
    """The asked batch, where it lies between one that lived and one that died; else 0."""
    lived, died = _between(runs)
    return asked if lived < asked < died else 0


def _between(runs: Sequence[Verified]) -> tuple[int, int]:
    """The largest batch that lived, and the smallest above it that died; 0 where none did."""
    lived = max((each.batch for each in runs if each.lived), default=0)
    return lived, min((each.batch for each in runs if not each.lived and each.batch > lived), default=0)


def _next_batch(runs: Sequence[Verified], lower: Sequence[int], likely: int) -> int:
    """The batch to run after those: larger where all lived; one of the `lower` where all died, then half; else between both; 0
    where the largest that lived is near enough to the smallest that died, or none is left."""
    lived, died = _between(runs)
    if not lived:
        return next((each for each in lower if each < died), died // 2)
    if not died:
        above = sum(each.batch >= likely for each in runs)
        return max(int(lived * min(_MOST_UP, _UP ** max(0, above - 1) / NEAR)) + 1, likely)
    return (lived + died) // 2 if lived < NEAR * (died - 1) else 0


@dataclass(frozen=True, slots=True)
class Tried:
    """What one child measured."""

    device: Line
    host: Line
    floor_bytes: int
    """What the process grew by while the model was built and its step traced; no batch takes less."""
    facts: Mapping[str, int]
    assumed: tuple[str, ...]

    @property
    def on_gpu(self) -> bool:
        """Whether the device was a real one: the process' own figures are then those of a run on it."""
        return bool(self.facts.get("gpus"))

    def host_at(self, batch: int) -> Bounds:
        """The growth of the process at a batch."""
        found = self.host.at(batch)
        return Bounds(*(max(each, self.floor_bytes) for each in (found.bytes, found.low_bytes, found.high_bytes)))


class _Seen:
    """The answers of one child."""

    def __init__(self, ended: Ended) -> None:
        self.ended = ended
        self.told = {name: value for answer in ended.answers for name, value in answer.items()}
        self.points = [answer["point"] for answer in ended.answers if "point" in answer]
        self.before_bytes: int = self.told.get("before_bytes", 0)

    def died(self) -> str | None:
        """How it failed, in words; None where it did what it was asked."""
        if self.told.get("done"):
            return None
        if "raised" in self.told:
            return str(self.told["raised"])
        trying, code = self.told.get("trying"), self.ended.code
        at = f" at batch {trying}" if trying is not None else " before the first step"
        if self.ended.by == "time":
            return f"not through when its time was over,{at}"
        if self.ended.by == "limit":
            return f"killed at the limit{at}"
        if code is not None and code < 0:
            return f"ended by {signal_name(-code)}{at}"
        return f"ended with {code}{at}"

    def of_memory(self) -> bool:
        """Whether it was memory that it failed for."""
        return self.ended.by == "limit" or bool(self.told.get("exhausted"))

    def peak_bytes(self, target: str) -> int | None:
        """The peak of the last batch."""
        last = self.points[-1]
        if target == "host":
            return int(max(last["process_bytes"], last["building_bytes"])) - self.before_bytes
        return int(last["device_bytes"]) if last["device_bytes"] is not None else None


def tried(
    request: Mapping[str, Any], target: str, most_bytes: int, timeout_s: float, progress: Progress | None = None
) -> Tried:
    """Run small batches in one child; then the asked one, or half of it, alone in another, where that can be afforded."""
    until_s = time.monotonic() + timeout_s
    small = _one_child(request, target, most_bytes, timeout_s, progress, None)
    line = small.device if target == "device" else small.host
    left_s, process_bytes = until_s - time.monotonic(), 0 if target == "host" else _PROCESS_BYTES
    budget_s = min(_BUDGET_S, left_s / 4)
    batch = nearer_size(line, request["batch"], most_bytes - process_bytes, budget_s, _STEPS[target] + 1)
    if batch is None:
        return small
    try:
        large = _one_child(request, target, most_bytes, left_s, progress, batch)
    except CannotCheckError as error:
        return replace(small, assumed=(*small.assumed, f"batch {batch} could not be tried: {error}"))
    return replace(
        small,
        device=replace(small.device, points=(*small.device.points, *large.device.points)),
        host=replace(small.host, points=(*small.host.points, *large.host.points)),
        assumed=(*small.assumed, *large.assumed),
    )


def _one_child(
    request: Mapping[str, Any],
    target: str,
    most_bytes: int,
    timeout_s: float,
    progress: Progress | None,
    batch: int | None,
) -> Tried:
    if progress is not None:
        what = "small batches" if batch is None else f"batch {batch}"
        progress(f"running {what}, measuring the {target}")
    asked = {"sizes": None if batch is None else [batch], "steps": _STEPS[target], "plainly": target == "host"}
    ended = _run(request, asked, target, most_bytes, None, False, max(1.0, timeout_s))
    seen = _Seen(ended)
    _raise_told(seen)
    died = seen.died()
    if not seen.points or (target == "device" and not seen.points[0]["device_bytes"]):
        reason = died or "the allocator does not count"
        raise CannotCheckError(f"no step could be measured: {reason}", _try_plainly(request))
    return _read(seen, request["phase"], target, died)


def _read(seen: _Seen, phase: str, target: str, died: str | None) -> Tried:
    facts, before = seen.told.get("facts", {}), seen.before_bytes
    stays = facts.get("weights", 0) + facts.get("optimizer", 0)
    device, host = [], []
    for each in seen.points:
        batch, seconds = each["batch"], each["seconds"]
        device.append(Point(batch, each["device_bytes"] or 0, each["held_bytes"] or 0, seconds))
        host.append(Point(batch, each["process_bytes"] - before, stays, seconds))
    batches = ", ".join(str(each.batch) for each in device)
    assumed = [f"the {target} was measured in real steps at batch {batches}", *seen.told.get("assumed", ())]
    if died is not None:
        assumed.append(f"it did not get further: {died}")
    floor = seen.points[0]["building_bytes"] - before
    lines = Line(tuple(device), phase), Line(tuple(host), phase, "host")
    return Tried(*lines, floor, facts, tuple(assumed))


def _peak(request: Mapping[str, Any], device: Tried, host: Tried | None) -> StepPeak:
    batch, phase, limit = request["batch"], request["phase"], request.get("available_bytes")
    found = device.device.at(batch)
    target = request.get("target") or "device"
    kinds = {name: device.facts.get(name, 0) for name in ("weights", "optimizer")}
    kinds["input"] = device.facts.get("input", 0) * batch
    kinds["other"] = max(0, found.bytes - sum(kinds.values()))
    largest, least = _largest(device, host, target, limit)
    return StepPeak(
        phase,
        batch,
        found.bytes,
        found.low_bytes,
        found.high_bytes,
        {kind: count for kind, count in kinds.items() if count},
        available_bytes=limit,
        largest_batch=largest,
        larger_may_fit=least,
        method="measured",
        host=host.host_at(batch) if host is not None else None,
        target=target,
        assumed=tuple(dict.fromkeys((*device.assumed, *(host.assumed if host is not None else ())))),
    )


def _largest(device: Tried, host: Tried | None, target: str, limit_bytes: int | None) -> tuple[int | None, bool]:
    """The largest batch by the line that is compared, and whether larger ones may fit as well."""
    tried = device if target == "device" else host
    if limit_bytes is None or tried is None:
        return None, False
    if target == "host" and tried.floor_bytes > limit_bytes:
        return 0, False
    line = tried.device if target == "device" else tried.host
    found = line.largest(limit_bytes)
    return found, line.is_least(found)


def _run(
    request: Mapping[str, Any],
    asked: Mapping[str, Any],
    target: str,
    most_bytes: int,
    limit_bytes: int | None,
    growth: bool,
    timeout_s: float,
) -> Ended:
    told = {name: request.get(name) for name in ("file", "name", "batch", "phase", "shapes", "target")} | dict(asked)
    command = [sys.executable, "-m", "crashcart.cli.fit_trial_child", json.dumps(told)]
    environment = _environment(told, target, told.get("device_limit_bytes") or most_bytes)
    with held(most_bytes, limit_bytes, growth) as hold:
        return run(command, hold, timeout_s, environment)


def _environment(told: Mapping[str, Any], target: str, limit_bytes: int) -> dict[str, str]:
    """On a CPU, the device is measured on the allocator that GPUs use, which has a limit and counts, and without kernels that no
    GPU has; the host is not."""
    found = {
        **os.environ,
        "TF_CPP_MIN_LOG_LEVEL": os.environ.get("TF_CPP_MIN_LOG_LEVEL", "2"),
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        "KERAS_BACKEND": os.environ.get("KERAS_BACKEND", "tensorflow"),
    }
    if told["target"] == "host":
        found["CUDA_VISIBLE_DEVICES"] = "-1"
    if target == "device":
        found = without_onednn(found)
        found |= {"TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(max(1, limit_bytes >> 20))}
    return found


def _raise_told(seen: _Seen) -> None:
    """What was wrong with what the child was given is told as the child said it."""
    if "error" in seen.told:
        raise retold(seen.told)


def _try_plainly(request: Mapping[str, Any]) -> str:
    return (
        f"Run a step of {request['name']} at that batch by itself, as a program: `crashcart run -- python …` tells why."
    )
