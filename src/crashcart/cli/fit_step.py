"""From a model that is loaded to the estimate of its step: traced, walked, the largest batch sought, remedies estimated.

Covers: what the child of `crashcart fit` and `cc.fit` in a notebook do alike. `say` is told what is being done.
Does not cover: loading the model, asking for the memory there is, printing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from crashcart.cli.fit_ask import TRACING
from crashcart.fit.estimate import estimate, guessed, largest_batch
from crashcart.fit.places import places
from crashcart.graph import Graph
from crashcart.probe.machine import usable_cores
from crashcart.probe.tensorflow_weights import WeightsReadError
from crashcart.step import Bounds, Remedy, StepPeak
from crashcart.units import size

Say = Callable[[str], None]

# A remedy that saves less is none; the figures are not that exact.
_LEAST_SAVED = 0.02
# So long may they take together: each is a trace and a walk of its own.
_REMEDIES_S, _REMEDIES_TIMES = 120.0, 6.0
_HOST_MISSING = "the figure of the host could not be had ({}); that of TensorFlow's allocator is compared instead"


class Estimator:
    """One model's step. Made where the model may be traced; what comes after needs the trace alone."""

    def __init__(self, model: Any, given: Any, request: dict[str, Any], say: Say) -> None:
        from crashcart.probe.tensorflow_passes import traced
        from crashcart.probe.tensorflow_specs import described
        from crashcart.probe.tensorflow_twin import passes_of

        self._request, self._say = request, say
        self._cores = usable_cores()
        self._began_s = time.monotonic()
        say(TRACING)
        batch = described(model, given, request["phase"], request["shapes"])
        self._layers, self._optimizers = _layer_names(model), _optimizer_names(model)
        self._trace = traced(model, batch.specs, request["phase"], passes_of(model))
        self._assumed = (*batch.assumed, *self._trace.notes)

    def step(self) -> StepPeak:
        """The estimate, with the largest batch that fits where the memory is known."""
        self._say("estimating")
        step = self.at(self._request["batch"])
        done_s = time.monotonic()
        step = replace(step, seconds=done_s - self._began_s)
        limit_bytes, compared = self._request["available_bytes"], step.compared
        if limit_bytes is None or compared is None:
            return step
        self._say("searching for the largest batch")
        known = {step.batch: compared.high_bytes}
        found = largest_batch(lambda each: self._bounds(each, step.target).high_bytes, known, limit_bytes)
        return replace(step, largest_batch=found, search_seconds=time.monotonic() - done_s)

    def at(self, batch: int) -> StepPeak:
        """The estimate at one batch, of device and host."""
        graph, phase = self._trace.at(batch), self._request["phase"]
        step = self._with_host(estimate(graph, phase, batch, self._cores, self._optimizers), graph)
        return replace(step, places=places(step, self._layers, self._optimizers))

    def _with_host(self, step: StepPeak, graph: Graph) -> StepPeak:
        target, assumed = self._request["target"], (*step.assumed, *self._assumed)
        try:
            host, told = _host(graph, step.phase, self._cores)
        except Exception as error:  # the device's figure stands without it
            told = (_HOST_MISSING.format(f"{type(error).__name__}: {error}"),)
            return replace(step, target="device", assumed=(*assumed, *(told if target == "host" else ())))
        return replace(step, host=host, target=target, assumed=(*assumed, *(told if target == "host" else ())))

    def _bounds(self, batch: int, target: str) -> Bounds:
        return bounds_of(self._trace.at(batch), self._request["phase"], batch, self._cores, target)


def bounds_of(graph: Graph, phase: str, batch: int, cores: int, target: str) -> Bounds:
    """The figure of one target alone."""
    if target == "host":
        return _host(graph, phase, cores)[0]
    found = estimate(graph, phase, batch, cores)
    return Bounds(found.peak_bytes, found.low_bytes, found.high_bytes)


def _host(graph: Graph, phase: str, cores: int) -> tuple[Bounds, tuple[str, ...]]:
    """The growth of the process, and what is to be said where this machine is not like the one that was measured."""
    from crashcart.fit.host import caveat, host_peak, machine_kind
    from crashcart.probe.machine import read_machine

    kind = machine_kind(read_machine(os.getpid()).cpu_flags, os.confstr("CS_GNU_LIBC_VERSION"))
    said = caveat(cores, kind)
    found = host_peak(graph, phase, cores, kind)
    more_bytes, _ = guessed(graph, found.bytes)  # the words for it come with the device's figure
    return replace(found, high_bytes=found.high_bytes + more_bytes), ((said,) if said else ())


def remedies(model: Any, given: Any, request: dict[str, Any], step: StepPeak, say: Say, note: Say) -> Iterator[Remedy]:
    """What helps, each estimated on the changed model; and what makes its file smaller. `note` is told what was left out."""
    from crashcart import remedy
    from crashcart.probe.tensorflow_variants import variants

    compared = step.compared
    until_s = time.monotonic() + max(_REMEDIES_S, _REMEDIES_TIMES * (step.seconds or 0.0))
    if compared is None:
        return
    offered = variants(model, given, step.phase, request["shapes"], step.batch, remedies=remedy)
    for variant in _each(iter(offered), note):
        if time.monotonic() > until_s:
            note(f"{variant.name} and what comes after it was not estimated, for want of time")
            return
        say(f"estimating remedies: {variant.name}")
        try:
            found = _estimated(variant, step)
        except (Exception, WeightsReadError):  # a change that does not go with this model is not offered
            continue
        if variant.size_bytes is not None or found.peak_bytes <= compared.bytes * (1 - _LEAST_SAVED):
            yield found
    if offered.left_out:
        note("not offered: " + "; ".join(f"{name} ({reason})" for name, reason in offered.left_out))


def _each(found: Iterator[Any], note: Say) -> Iterator[Any]:
    """The variants so far as they can be had. The user's own model may raise anything, and the estimate stands without them."""
    while True:
        try:
            variant = next(found)
        except StopIteration:
            return
        except (Exception, WeightsReadError) as error:
            note(f"not all remedies were estimated: {type(error).__name__}: {error}")
            return
        yield variant


def _estimated(variant: Any, step: StepPeak) -> Remedy:
    batch = variant.batch or step.batch
    found = bounds_of(variant.trace().at(batch), step.phase, batch, usable_cores(), step.target)
    notes = [variant.note] if variant.note else []
    if variant.size_bytes is not None and variant.size_before_bytes is not None:
        notes.append(f"the model's file: {size(variant.size_before_bytes)} now, {size(variant.size_bytes)} then")
    shown = variant.pass_batch or variant.batch
    return Remedy(variant.name, found.bytes, variant.how, "; ".join(notes) or None, shown, found.high_bytes)


def ordered(found: Iterable[Remedy]) -> tuple[Remedy, ...]:
    """The most effective first."""
    return tuple(sorted(found, key=lambda each: each.peak_bytes))


def wanted(step: StepPeak, asked: bool | None) -> bool:
    """Whether remedies are to be estimated: as asked; else where the step does not fit, or may not."""
    if asked is not None:
        return asked
    compared, there = step.compared, step.available_bytes
    return compared is not None and there is not None and compared.high_bytes > there


def _layer_names(model: Any) -> tuple[str, ...]:
    """The names of all layers, also of those inside others."""
    try:
        return tuple(each.name for each in model._flatten_layers(include_self=False))
    except (AttributeError, TypeError):
        return tuple(each.name for each in getattr(model, "layers", ()))


def _optimizer_names(model: Any) -> tuple[str, ...]:
    """The optimizer's, and that of the one inside it (loss scaling wraps another)."""
    outer = getattr(model, "optimizer", None)
    names = (getattr(each, "name", None) for each in (outer, getattr(outer, "inner_optimizer", None)))
    return tuple(str(each) for each in names if each)
