"""How much a process grows on the host when a model is built and run on its processor, before anything of it is allocated.

Covers: the tensors of the step on a model of the C library's allocator (`heap.py`), the outputs that `predict` collects, and what
the step costs besides: Python's and TensorFlow's own copies of the graph, and the first use of libraries. The few coefficients
between them were fitted to real runs (`make calibrate`), and so were the bounds; `host.json` says where, when and how well.
Does not cover: the process before the model is built, data that the program holds itself, other devices.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from math import prod
from typing import Any

from crashcart.fit.heap import Heap
from crashcart.fit.values import Buffer
from crashcart.fit.walk import Walk
from crashcart.graph import Graph
from crashcart.step import Bounds

# The heap grows from step to step, and `predict` keeps the outputs of all steps, to join them in the end. How many steps there
# will be is not known; so many were run where the coefficients were fitted.
STEPS = 6
# Where blocks come to lie is chance, in a real process too. Small steps are walked several times, up to so many operations.
TRIALS = 8
MOST_OPERATIONS = 40_000
# Of live tensors, which the walk knows to a few hundredths, so much is taken for sure; of slack and of the rest nothing is.
SURE = 0.75


@dataclass(frozen=True, slots=True)
class Parts:
    """What the figure is made of."""

    built_bytes: int
    """The most that is resident for tensors while the variables get their first values."""
    live_bytes: int
    """The most that variables, batch, activations, scratch and outputs take at a time while steps run."""
    slack_bytes: int
    """By how much more the heap grows meanwhile."""
    operations: int
    """In the graph and the functions that it calls."""


def host_peak(graph: Graph, phase: str, cores: int, machine: str | None = None) -> Bounds:
    """The growth of the process at its peak over the moment before the model is built. `machine` is what `machine_kind` says of
    it; None takes it for one of the kind that was measured."""
    of = parts(graph, phase, cores)
    found = grown_bytes(of, facts()["coefficients"][_like(phase)])
    below, above = (each * unsure_bytes(of, found) for each in facts()["bounds"])
    wider = found * facts()["elsewhere"] if caveat(cores, machine) else 0.0
    return Bounds(int(found), max(0, int(found - below - wider)), int(found + above + wider))


def caveat(cores: int, machine: str | None) -> str | None:
    """What to say where the figure was not measured on such a machine; None where it was."""
    known = facts()["machine"]
    if machine is not None and machine != known["kind"]:
        return f"memory on the host was measured on {known['kind']}, and this is {machine}: its bounds are wider"
    if cores > known["cores"] * facts()["most_times_cores"]:
        return (
            f"memory on the host was measured with {known['cores']} cores, and here are {cores}: its bounds are wider"
        )
    return None


def machine_kind(cpu_flags: Collection[str] | None, libc: str | None) -> str:
    """What decides on kernels and allocator. With these instructions TensorFlow takes oneDNN's kernels, which have scratch of
    their own; from 2.38 on the C library places aligned blocks with less waste."""
    flags = cpu_flags or ()
    onednn = any(each in flags for each in ("avx512_vnni", "avx512_bf16", "amx_tile", "avx_vnni"))
    kernels = "oneDNN" if onednn else "Eigen" if "avx2" in flags else "other"
    name, _, version = (libc or "unknown").partition(" ")
    numbers = tuple(int(each) for each in version.split(".") if each.isdigit())
    when = "" if name != "glibc" else " from 2.38 on" if numbers >= (2, 38) else " before 2.38"
    return f"{kernels} kernels, malloc of {name}{when}"


def parts(graph: Graph, phase: str, cores: int) -> Parts:
    """Walk a few steps on the C library's allocator, a few times; the figure is the mean."""
    trials: list[tuple[int, int, int]] = []
    operations = 0
    while len(trials) < TRIALS and operations * (len(trials) + 1) <= MOST_OPERATIONS * max(1, len(trials)):
        heap = Heap(cores, seed=len(trials))
        walk = _Touching(graph, cores, len(trials), heap)
        built_bytes = heap.peak_bytes
        heap.fill()  # by the trace, which the operations count for
        heap.peak_bytes, heap.most_used_bytes = heap.resident_bytes, heap.used_bytes
        _run(walk, heap, phase)
        trials.append((built_bytes, heap.most_used_bytes, heap.peak_bytes - heap.most_used_bytes))
        operations += walk.operations
    built, live, slack = (sum(each) // len(trials) for each in zip(*trials, strict=True))
    return Parts(built, live, slack, graph.operations)


class _Touching(Walk):
    """A walk that counts of scratch only what is written to: kernels ask for columns of as many images as fill a cache, and fill
    those of the images that there are."""

    def __init__(self, graph: Graph, cores: int, seed: int, heap: Heap) -> None:
        self._columns = _columns(graph)
        super().__init__(graph, cores, seed, heap)

    def _new(self, name: str, kind: str, count_bytes: int) -> Buffer:
        most = self._columns.get(name, count_bytes) if kind == "scratch" else count_bytes
        return super()._new(name, kind, min(count_bytes, most))


def _columns(graph: Graph) -> dict[str, int]:
    """What the columns of the whole batch take, by the gradient of a convolution."""
    found = {}
    for node in graph.nodes:
        if not node.op.startswith(("Conv2DBackprop", "Conv3DBackprop")):
            continue
        tensors = [graph.nodes[index].outputs[number] for index, number in node.inputs]
        kernel = (node.outputs[0] if "Filter" in node.op else tensors[1]).shape
        gradient = tensors[2].shape
        if kernel is not None and gradient is not None:
            found[node.name] = prod((*gradient[:-1], *kernel[:-1])) * tensors[2].item_bytes
    return found


def _run(walk: Walk, heap: Heap, phase: str) -> None:
    """A few steps. `predict` keeps what each gives out; in the end it joins that, and copies it for NumPy."""
    graph = walk.graph
    inputs = [graph.nodes[index].outputs[0] for index in graph.arguments]
    outputs = _outputs(graph) if phase == "predict" else []
    for number in range(1, STEPS + 1):
        heap.read(len(inputs))
        walk.step(inputs, held=phase == "predict")
        last = number == STEPS or walk.operations > MOST_OPERATIONS
        for each in outputs * (STEPS - number + 1 if last else 1):
            heap.allocate(each)
        if last:
            break
    for each in outputs * 2:
        heap.allocate(STEPS * each)


def _outputs(graph: Graph) -> list[int]:
    found = (graph.nodes[index].outputs[number].bytes for index, number in graph.results)
    return [each for each in found if each]


def grown_bytes(of: Parts, coefficients: Mapping[str, float]) -> float:
    """The most of the steps, with all that they need besides, and of the time before them."""
    besides = sum(coefficients[name] * value for name, value in terms(of).items())
    return max(float(of.built_bytes), of.live_bytes + besides)


def terms(of: Parts) -> dict[str, float]:
    """What each coefficient is multiplied with. What is live counts as it is."""
    return {"fixed": 1.0, "slack": float(of.slack_bytes), "operation": float(of.operations)}


def unsure_bytes(of: Parts, figure: float) -> float:
    """What the bounds are proportional to: all that is not live tensors, and a part of those."""
    return max(0.0, figure - SURE * of.live_bytes)


@cache
def facts() -> Any:
    """The coefficients and bounds, with where they come from."""
    return json.loads(resources.files("crashcart.fit").joinpath("host.json").read_text(encoding="utf-8"))


def _like(phase: str) -> str:
    """Evaluation runs the same operations as prediction, and the loss."""
    return "train" if phase == "train" else "predict"
