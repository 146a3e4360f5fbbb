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
from typing import Any

from crashcart.fit.heap import Heap
from crashcart.fit.walk import Walk
from crashcart.graph import Graph
from crashcart.step import Bounds

# The heap of a real run stands still after a few steps; that of the walk after two.
STEPS = 3
MOST_OPERATIONS = 60_000
# `predict` keeps the outputs of all steps and joins them in the end. How many steps there will be is not known; so many were
# run where the coefficients were fitted.
PREDICTED_STEPS = 6


@dataclass(frozen=True, slots=True)
class Parts:
    """What the figure is made of."""

    tensors_bytes: int
    """The most that is resident for variables, batch, activations and scratch."""
    live_bytes: int
    """The most of it that is in use at a time."""
    operations: int
    """In the graph and the functions that it calls."""
    variables: int


def host_peak(graph: Graph, phase: str, cores: int, machine: str | None = None) -> Bounds:
    """The growth of the process at its peak over the moment before the model is built. `machine` is what `machine_kind` says of
    it; None takes it for one of the kind that was measured."""
    found = grown_bytes(parts(graph, phase, cores), facts()["coefficients"][_like(phase)])
    below, above = facts()["bounds"][_like(phase)]
    wider = facts()["elsewhere"] if caveat(cores, machine) else 0.0
    return Bounds(int(found), int(found * max(0.0, 1 - below - wider)), int(found * (1 + above + wider)))


def caveat(cores: int, machine: str | None) -> str | None:
    """What to say where the figure was not measured on such a machine; None where it was."""
    known = facts()["machine"]
    if machine is not None and machine != known["kind"]:
        return f"memory on the host was measured on {known['kind']}, and this is {machine}: its bounds are wider"
    if cores > known["cores"] * facts()["most_times_cores"]:
        return f"memory on the host was measured with {known['cores']} cores, and here are {cores}: its bounds are wider"
    return None


def machine_kind(cpu_flags: Collection[str] | None, libc: str | None) -> str:
    """What decides on kernels and allocator: with these instructions TensorFlow takes oneDNN's kernels, with its own scratch."""
    flags = cpu_flags or ()
    onednn = any(each in flags for each in ("avx512_vnni", "avx512_bf16", "amx_tile", "avx_vnni"))
    kernels = "oneDNN" if onednn else "Eigen" if "avx2" in flags else "other"
    return f"{kernels} kernels, {(libc or 'unknown').split()[0]} malloc"


def parts(graph: Graph, phase: str, cores: int) -> Parts:
    """Walk the step on the C library's allocator."""
    heap = Heap()
    walk = Walk(graph, cores, chunks=heap)
    inputs = [graph.nodes[index].outputs[0] for index in graph.arguments]
    live = 0
    for _ in range(STEPS):
        live = max(live, walk.step(inputs, held=phase == "predict").bytes)
        if walk.operations > MOST_OPERATIONS:
            break
    collected = _collected_bytes(graph) if phase == "predict" else 0
    joined = heap.used_bytes + 2 * PREDICTED_STEPS * collected
    held = (PREDICTED_STEPS - 1) * collected
    operations = sum(len(each.nodes) for each in (graph, *graph.functions.values()))
    return Parts(max(heap.peak_bytes + held, joined), live + held, operations, len(graph.variables))


def grown_bytes(of: Parts, coefficients: Mapping[str, float]) -> float:
    """The sum of the parts, each with its coefficient."""
    return sum(coefficients[name] * value for name, value in terms(of).items())


def terms(of: Parts) -> dict[str, float]:
    """What each coefficient is multiplied with."""
    return {
        "fixed": 1.0,
        "tensors": float(of.tensors_bytes),
        "operation": float(of.operations),
    }


@cache
def facts() -> Any:
    """The coefficients and bounds, with where they come from."""
    return json.loads(resources.files("crashcart.fit").joinpath("host.json").read_text(encoding="utf-8"))


def _like(phase: str) -> str:
    """Evaluation runs the same operations as prediction, and the loss."""
    return "train" if phase == "train" else "predict"


def _collected_bytes(graph: Graph) -> int:
    return sum(graph.nodes[index].outputs[number].bytes or 0 for index, number in graph.results)
