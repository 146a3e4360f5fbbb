"""From a model that is loaded to the estimate of its step: traced, walked, the largest batch sought, remedies estimated.

Covers: what the child of `crashcart fit` and `cc.fit` in a notebook do alike. `say` is told what is being done.
Does not cover: loading the model, asking for the memory there is, printing.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from crashcart.cli.fit_ask import SEARCHING, TRACING
from crashcart.cli.fit_search import Pace, end_of_search_s, has_loops, searched
from crashcart.fit.estimate import estimate, guessed, runs_under
from crashcart.fit.places import places
from crashcart.fit.walk import Plans
from crashcart.graph import Graph
from crashcart.probe.machine import usable_cores
from crashcart.probe.tensorflow_said import said
from crashcart.probe.tensorflow_weights import WeightsReadError
from crashcart.step import Bounds, HeldTensor, Remedy, StepPeak
from crashcart.units import duration, size

Say = Callable[[str], None]

# A remedy that saves less is none; the figures are not that exact.
_LEAST_SAVED = 0.02
# So long may they take together: each is a trace and a walk of its own.
_REMEDIES_S, _REMEDIES_TIMES = 120.0, 6.0
_UNUSED = "unused "
"""How the trace names variables that the step does not read."""
_LEAST_CHUNK_BYTES = 256
_HOST_MISSING = "the figure of the host could not be had ({}); that of TensorFlow's allocator is compared instead"
_CUT = "the search for the largest batch was ended after {}: {}"
_FIXED = "the model takes batches of {} alone, as its input says (batch_shape): no other was looked at"
_WAITS = "above batch {} it would take more if there were more: held to this memory, operations wait until others free theirs"


class Estimator:
    """One model's step. Made where the model may be traced; what comes after needs the trace alone."""

    def __init__(self, model: Any, given: Any, request: dict[str, Any], say: Say) -> None:
        from crashcart.probe.tensorflow_inputs import fixed_batch
        from crashcart.probe.tensorflow_passes import traced
        from crashcart.probe.tensorflow_specs import described
        from crashcart.probe.tensorflow_twin import passes_of

        self._request, self._say = request, say
        self._cores = usable_cores()
        self._began_s = time.monotonic()
        say(TRACING)
        self._fixed = fixed_batch(model)
        self._batch = self._fixed or request["batch"]
        batch = described(model, given, request["phase"], request["shapes"])
        self._layers, self._optimizers = _layer_names(model), _optimizer_names(model)
        self._trace = traced(model, batch.specs, request["phase"], passes_of(model), self._batch)
        fixed = [_FIXED.format(self._fixed)] if self._fixed else []
        self._assumed = (*batch.assumed, *self._trace.notes, *fixed)

    def step(self) -> StepPeak:
        """The estimate, with the largest batch that fits."""
        return self.searched(self.estimated())

    def estimated(self) -> StepPeak:
        """The estimate at the asked batch."""
        self._say("estimating")
        step = self.at(self._batch)
        return replace(step, seconds=time.monotonic() - self._began_s)

    def searched(self, step: StepPeak) -> StepPeak:
        """The same with the largest batch that fits, where the memory is known; with what was seen of it in its time."""
        limit_bytes, compared = self._request["available_bytes"], step.compared
        if limit_bytes is None or compared is None:
            return step
        if self._fixed is not None:
            fits = compared.high_bytes <= limit_bytes or (
                step.target == "device" and self._runs(step.batch, limit_bytes)
            )
            return replace(step, largest_batch=step.batch if fits else 0, fixed_batch=self._fixed)
        self._say(SEARCHING)
        began_s = time.monotonic()
        until_s = end_of_search_s(step.seconds or 0.0, self._request.get("until_s"))
        pace = Pace(until_s, self._loops, {step.batch: self._walked_s})
        runs = partial(self._runs, limit_bytes=limit_bytes) if step.target == "device" else None
        look = partial(self._bounds, target=step.target)
        found = searched(step.batch, compared, limit_bytes, look, runs, pace)
        took_s = time.monotonic() - began_s
        said = [_WAITS.format(found.plain)] if (found.batch or 0) > found.plain else []
        seen = f"the largest that was seen to fit is {found.batch}" if found.batch else "none was seen to fit"
        said += [_CUT.format(duration(took_s), seen)] if found.cut else []
        return replace(
            step,
            largest_batch=found.batch,
            larger_may_fit=found.cut,
            smallest=found.smallest,
            likely_batch=found.likely or None,
            search_seconds=took_s,
            assumed=(*step.assumed, *said),
        )

    def at(self, batch: int) -> StepPeak:
        """The estimate at one batch, of device and host."""
        began_s = time.monotonic()
        graph, phase = self._trace.at(batch), self._request["phase"]
        self._loops = has_loops(graph)
        with uncollected():
            plans = Plans(graph, self._cores, self._optimizers)
            found = estimate(graph, phase, batch, self._cores, self._optimizers, plans)
            step = self._with_host(found, graph, plans)
        self._walked_s = time.monotonic() - began_s
        step = replace(step, largest=tuple(each for each in step.largest if not _is_counter(each)))
        words = places(step, self._layers, self._optimizers)
        return replace(step, places={**words, **_not_used(step)})

    def _with_host(self, step: StepPeak, graph: Graph, plans: Plans) -> StepPeak:
        target, assumed = self._request["target"], (*step.assumed, *self._assumed)
        try:
            host, told = _host(graph, step.phase, self._cores, plans)
        except Exception as error:  # the device's figure stands without it
            told = (_HOST_MISSING.format(f"{type(error).__name__}: {error}"),)
            return replace(step, target="device", assumed=(*assumed, *(told if target == "host" else ())))
        return replace(step, host=host, target=target, assumed=(*assumed, *(told if target == "host" else ())))

    def _runs(self, batch: int, limit_bytes: int) -> bool:
        return runs_under(self._trace.at(batch), self._request["phase"], self._cores, limit_bytes, self._optimizers)

    def _bounds(self, batch: int, target: str) -> Bounds:
        return bounds_of(self._trace.at(batch), self._request["phase"], batch, self._cores, target, self._optimizers)


def _is_counter(held: HeldTensor) -> bool:
    """A number of the optimizer's that the step does not use, such as its count of steps: none of the largest tensors."""
    return held.name.startswith(_UNUSED) and held.bytes <= _LEAST_CHUNK_BYTES


def _not_used(step: StepPeak) -> dict[str, str]:
    """Words for variables that are held and that the step does not use: they have no name in it."""
    found = (each for each in step.largest if each.name.startswith(_UNUSED))
    return {each.name: f"not used in this step ({each.kind})" for each in found}


def bounds_of(
    graph: Graph, phase: str, batch: int, cores: int, target: str, optimizers: Collection[str] = ()
) -> Bounds:
    """The figure of one target alone."""
    with uncollected():
        plans = Plans(graph, cores, optimizers)
        if target == "host":
            return _host(graph, phase, cores, plans)[0]
        found = estimate(graph, phase, batch, cores, optimizers, plans)
    return Bounds(found.peak_bytes, found.low_bytes, found.high_bytes)


@contextmanager
def uncollected() -> Iterator[None]:
    """Without Python's search for garbage: a walk makes a hundred thousand small objects and no garbage to speak of, and the
    search goes over all of TensorFlow's objects too."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _host(graph: Graph, phase: str, cores: int, plans: Plans | None = None) -> tuple[Bounds, tuple[str, ...]]:
    """The growth of the process, and what is to be said where this machine is not like the one that was measured."""
    from crashcart.fit.host import caveat, host_peak, machine_kind
    from crashcart.probe.machine import read_machine
    from crashcart.probe.onednn import takes_onednn

    flags = read_machine(os.getpid()).cpu_flags
    kind = machine_kind(flags, takes_onednn(flags), os.confstr("CS_GNU_LIBC_VERSION"))
    said = caveat(cores, kind)
    found = host_peak(graph, phase, cores, kind, plans)
    more_bytes, _ = guessed(graph, found.bytes, plans)  # the words for it come with the device's figure
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
            note(f"not all remedies were estimated: {said(error)}")
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
    return step.compared is not None and step.available_bytes is not None and step.fits is not True


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
