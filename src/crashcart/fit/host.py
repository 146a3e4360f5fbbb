"""How much a process grows on the host when a model is built and run on its processor, before anything of it is allocated.

Covers: the tensors of the step on a model of the C library's allocator (`heap.py`), or with oneDNN's kernels of the pool that
TensorFlow has then (`pool.py`), with what these kernels take themselves (`onednn.py`); the outputs that `predict` collects; what
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
from math import hypot
from typing import Any

from crashcart.fit.heap import Heap
from crashcart.fit.pool import PooledHeap
from crashcart.fit.tape import Player, Tape
from crashcart.fit.walk import Plans, Walk
from crashcart.graph import Graph
from crashcart.step import Bounds

# The heap grows from step to step, and `predict` keeps the outputs of all steps, to join them in the end. How many steps there
# will be is not known; so many were run where the coefficients were fitted.
STEPS = 6
# Where blocks come to lie is chance, in a real process too. Small steps are walked several times, up to so many operations.
TRIALS = 4
# In predictions with loops, a trial of most of a step's turns says as much as several (no difference with all models of the zoo).
MOST_OPERATIONS = {"train": 40_000, "evaluate": 12_000, "predict": 12_000}
# Of the steps so many are walked at least, and the last of them is played again: in five predictions with loops the heap grew by
# as much as in six steps that differ (within 2 % on the mean of eight trials).
LEAST_WALKED = 2
# An operation in the body of a loop is paid for again: the body stands in the graph as a function, and once more where TensorFlow
# takes it apart to run it. In chains of operations it was 1.2 to 1.9 times as much without gradients, 3.3 to 4.9 times with them
# (`python -m bench.fit.loops`); of 1, 2 and 3 times, twice came closest for whole models. Of these only one family has loops, so
# that nothing can be fitted with a family left out: both are set.
TIMES_IN_FUNCTIONS = 2
SPREAD_IN_FUNCTIONS = 0.5


@dataclass(frozen=True, slots=True)
class Parts:
    """What the figure is made of."""

    built_bytes: int
    """The most that is resident for tensors while the variables get their first values."""
    live_bytes: int
    """The most that variables, batch, activations, scratch and outputs take at a time while steps run."""
    slack_bytes: int
    """By how much more the heap grows meanwhile."""
    in_arenas_bytes: int
    """What of the live bytes lies side by side with other blocks, and not in a mapping of its own."""
    operations: int
    """In the graph and the functions that it calls."""
    in_functions: int
    """How many of these are in functions: bodies and conditions of loops, branches."""


def host_peak(graph: Graph, phase: str, cores: int, machine: str | None = None, plans: Plans | None = None) -> Bounds:
    """The growth of the process at its peak over the moment before the model is built. `machine` is what `machine_kind` says of
    it; None takes it for one of the kind that was measured. `plans` is the graph prepared, where that was done before."""
    known = facts(machine)
    of = parts(graph, phase, cores, plans, onednn=has_onednn(known["machine"]["kind"]))
    coefficients = known["coefficients"][_like(phase)]
    found = grown_bytes(of, coefficients)
    deviation = deviation_bytes(unsure_bytes(of, coefficients), known["spread"])
    below, above = (each * deviation for each in known["deviations"])
    wider = found * known["elsewhere"] if caveat(cores, machine) else 0.0
    return Bounds(int(found), max(0, int(found - below - wider)), int(found + above + wider))


def caveat(cores: int, machine: str | None) -> str | None:
    """What to say where the figure was not measured on such a machine; None where it was."""
    known = facts(machine)["machine"]
    if machine is not None and machine != known["kind"]:
        return f"memory on the host was measured on {known['kind']}, and this is {machine}: its bounds are wider"
    if cores > known["cores"] * facts(machine)["most_times_cores"]:
        return (
            f"memory on the host was measured with {known['cores']} cores, and here are {cores}: its bounds are wider"
        )
    return None


def machine_kind(cpu_flags: Collection[str] | None, onednn: bool, libc: str | None) -> str:
    """What decides on kernels and allocator. oneDNN's kernels have scratch of their own; from 2.38 on the C library places
    aligned blocks with less waste."""
    kernels = "oneDNN" if onednn else "Eigen" if "avx2" in (cpu_flags or ()) else "other"
    name, _, version = (libc or "unknown").partition(" ")
    numbers = tuple(int(each) for each in version.split(".") if each.isdigit())
    when = "" if name != "glibc" else " from 2.38 on" if numbers >= (2, 38) else " before 2.38"
    return f"{kernels} kernels, malloc of {name}{when}"


def has_onednn(machine: str) -> bool:
    """Whether the kernels of such a machine are oneDNN's."""
    return machine.startswith("oneDNN")


def parts(graph: Graph, phase: str, cores: int, plans: Plans | None = None, onednn: bool = False) -> Parts:
    """A few steps on the C library's allocator, a few times; the figure is the mean."""
    trials: list[tuple[int, int, int, int]] = []
    operations = 0
    plans = Plans(graph, cores) if plans is None else plans
    while len(trials) < TRIALS and operations * (len(trials) + 1) <= MOST_OPERATIONS[phase] * max(1, len(trials)):
        heap = (PooledHeap if onednn else Heap)(cores, seed=len(trials))
        steps = _Steps(plans, phase, len(trials), heap, onednn)
        built_bytes = heap.peak_bytes
        heap.fill()  # by the trace, which the operations count for
        heap.begin()
        steps.run()
        slack_bytes = heap.peak_bytes - heap.most_used_bytes
        trials.append((built_bytes, heap.most_used_bytes, slack_bytes, heap.in_arenas_bytes))
        operations += steps.operations
    built, live, slack, in_arenas = (sum(each) // len(trials) for each in zip(*trials, strict=True))
    in_functions = sum(len(each.nodes) for each in graph.functions.values())
    return Parts(built, live, slack, in_arenas, graph.operations, in_functions)


class _Steps:
    """The steps of one walk on a heap; those that were walked before are played."""

    def __init__(self, plans: Plans, phase: str, seed: int, heap: Heap, onednn: bool) -> None:
        self._held, self._onednn = phase == "predict", onednn
        self._walk, self._phase, self._heap = self._of(plans, seed), phase, heap
        self._player = Player(heap)
        self._player.touch(self._walk.tapes[0])
        self.operations = 0

    def _of(self, plans: Plans, seed: int) -> Walk:
        """The walk of that seed. Where it was not walked, another will do if its steps can be played again: where blocks come to
        lie depends more on the threads that ask for them."""
        walks = [each for (_, held), each in plans.walks.items() if held == self._held]
        if seed < len(walks):
            return walks[seed]
        if walks and walks[seed % len(walks)].tapes[-1].closed:
            return walks[seed % len(walks)]
        walk = Walk(plans.graph, plans.cores, seed, plans=plans, written=False)
        plans.walks[seed, self._held] = walk
        return walk

    def run(self) -> None:
        """A few steps. `predict` keeps what each gives out; in the end it joins that, and copies it for NumPy. A batch of its own
        goes when the next one is there (read from TensorFlow's log)."""
        heap, graph = self._heap, self._walk.graph
        outputs = _outputs(graph) if self._phase == "predict" else []
        late = sum(bool(graph.nodes[index].outputs[0].bytes) for index in graph.arguments) if self._held else 0
        for number in range(1, STEPS + 1):
            tape = self._tape(number)
            heap.read(len(graph.arguments))
            self._player.touch(tape, self._onednn, late)
            self.operations += tape.operations
            last = number == STEPS or self.operations > MOST_OPERATIONS[self._phase]
            for each in outputs * (STEPS - number + 1 if last else 1):
                heap.allocate(each)
            if last:
                break
        for each in outputs:
            heap.allocate(STEPS * each)
            heap.outside(STEPS * each)

    def _tape(self, number: int) -> Tape:
        """That step; where so many were not walked, the last that was, if it can be played again."""
        tapes = self._walk.tapes
        while len(tapes) <= number:
            if len(tapes) > LEAST_WALKED and tapes[-1].closed:
                return tapes[-1]
            self._walk.written = False
            nodes = self._walk.graph.nodes
            self._walk.step([nodes[index].outputs[0] for index in self._walk.graph.arguments], self._held)
        return tapes[number]


def _outputs(graph: Graph) -> list[int]:
    found = (graph.nodes[index].outputs[number].bytes for index, number in graph.results)
    return [each for each in found if each]


def grown_bytes(of: Parts, coefficients: Mapping[str, float]) -> float:
    """The most of the steps, with all that they need besides, and of the time before them."""
    besides = sum(coefficients.get(name, 0.0) * value for name, value in terms(of).items())
    return max(float(of.built_bytes), of.live_bytes + besides)


def terms(of: Parts) -> dict[str, float]:
    """What each coefficient is multiplied with. What is live counts as it is; where it lies in arenas, more is lost between
    blocks than the model of the heap knows of."""
    return {
        "fixed": 1.0,
        "slack": float(of.slack_bytes),
        "operation": float(of.operations + (TIMES_IN_FUNCTIONS - 1) * of.in_functions),
        "in_arenas": float(of.in_arenas_bytes),
    }


def unsure_bytes(of: Parts, coefficients: Mapping[str, float]) -> dict[str, float]:
    """What the figure may be off by a part of, each on its own: how far the heap grows is chance, most of all; what the graph
    takes is known on average, less so what loops in it take; live tensors are known best."""
    besides = sum(coefficients.get(name, 0.0) * terms(of)[name] for name in ("fixed", "operation"))
    loops = coefficients["operation"] * of.in_functions
    return {"slack": float(of.slack_bytes), "besides": besides, "live": float(of.live_bytes), "loops": loops}


def deviation_bytes(unsure: Mapping[str, float], spread: Mapping[str, float]) -> float:
    """How far a single run lies from the figure: the standard deviations of its parts, which do not depend on each other."""
    return hypot(*(spread.get(name, 0.0) * value for name, value in unsure.items()))


def facts(machine: str | None = None) -> Any:
    """The coefficients and bounds for that kind of machine, with where they come from; where it was not measured, those of one
    with the same kernels, else the first."""
    known = all_facts()
    kernels = (machine or "").partition(",")[0]
    like = (each for each in known if each.partition(",")[0] == kernels)
    return known[machine if machine in known else next(like, next(iter(known)))]


@cache
def all_facts() -> dict[str, Any]:
    """By kind of machine."""
    found: dict[str, Any] = json.loads(
        resources.files("crashcart.fit").joinpath("host.json").read_text(encoding="utf-8")
    )
    return found


def _like(phase: str) -> str:
    """Evaluation runs the same operations as prediction, and the loss."""
    return "train" if phase == "train" else "predict"
