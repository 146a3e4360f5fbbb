"""What was made anew while the program stepped, and is still alive.

Covers: counts that go up to the end: of things by the line that makes them, and of whole series.
Does not cover: what it means (the rules). No rule is declared here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from crashcart.growth import Growth, Made, Retraced
from crashcart.trend import ANY_FALLS, Climb, climb
from crashcart.units import MIB

GRAPH = "function graph"
"""What TensorFlow traces of a Python function; it can outlive the function and its model."""
PYTHON_FUNCTION = "Python function"
"""What `from_generator`, `py_function` and `numpy_function` hand to TensorFlow."""
LEAST_MADE = 8
"""A tf.function for each of a few shapes, a thread pool, a model for each of a few folds: fewer than this are meant to
be."""
LEAST_RATE = 0.04
"""With each 25 steps; asked only where the count over the steps is not known."""
_SERIES = {
    "model": "models",
    "layer": "layers",
    "variable": "variables",
    "session": "sessions",
    "thread": "threads",
    "graph": "graphs",
    "tf.function": "traces",
    "operation": "operations",
    GRAPH: "graphs",
    PYTHON_FUNCTION: "functions",
}
LEAST_OPERATIONS = 32
LEAST_GRAPHS, LEAST_GRAPH_RISES, MOST_GRAPH_FALLS = 64, 6, 0.3
"""Function graphs come by the dozen with each `fit` of a new model, and the collector frees them in waves (`predict` in a
loop: 7 to 55 and back). Those that stay became more at six looks at the least, and fell by little."""
LEAST_LATE_BYTES = 6 * MIB
"""What the process has to have taken in the second half of its steps, so that graphs which stay are worth a word."""
MADE = (
    "model",
    "layer",
    "optimizer",
    "tf.function",
    "variable",
    "session",
    "graph",
    "dataset iterator",
    "summary writer",
    PYTHON_FUNCTION,
    GRAPH,
)
"""What is known to take memory when it is made anew."""
_BRINGS = {
    "session": ("graph", "operation", "variable", "tf.function", PYTHON_FUNCTION, GRAPH),
    "graph": ("operation", "variable"),
    "model": ("layer", "optimizer", "variable", "tf.function", "graph", "dataset iterator", PYTHON_FUNCTION, GRAPH),
    "layer": ("variable", "tf.function", "graph", PYTHON_FUNCTION, GRAPH),
    "optimizer": ("variable", GRAPH),
    "tf.function": ("graph", PYTHON_FUNCTION, GRAPH),
    PYTHON_FUNCTION: ("dataset iterator", GRAPH),
    "dataset iterator": ("tf.function", "graph", GRAPH),
    "summary writer": ("thread",),
}
"""What comes along with what is made anew, and is not told beside it."""
_KERAS_CALLS = (".fit(", ".predict(", ".evaluate(", "train_on_batch(", "predict_on_batch(", "test_on_batch(")


@dataclass(frozen=True, slots=True)
class Rising:
    """A series of counts that goes up to the end."""

    name: str
    climb: Climb


def rising(growth: Growth, name: str, least: int = LEAST_MADE) -> Rising | None:
    """The series of that name, where it goes up to the end by so much."""
    series = growth.named(name)
    found = climb(series.steps, series.values, least, ANY_FALLS) if series is not None else None
    return Rising(name, found) if found is not None else None


def made_anew(growth: Growth, kinds: Iterable[str]) -> list[Made]:
    """Things of these kinds whose count goes up with the steps, those that came most often first."""
    wanted = tuple(kinds)
    going = [each for each in growth.made if _goes_on(growth, each)]
    brought = {kind for each in going for kind in _BRINGS.get(each.kind, ())}
    brought |= {GRAPH} if GRAPH in wanted and traced_again(growth) else set()
    found = [each for each in going if each.kind in wanted and each.kind not in brought]
    return sorted(found, key=lambda each: each.first - each.last)


def comes_along(growth: Growth, kind: str) -> bool:
    """Whether things are made anew that bring this along."""
    return any(kind in _BRINGS.get(each.kind, ()) and _goes_on(growth, each) for each in growth.made)


def _goes_on(growth: Growth, made: Made) -> bool:
    if made.last - made.first < LEAST_MADE:
        return False
    if made.kind == GRAPH:
        return _graphs_stay(growth)
    name = _SERIES.get(made.kind)
    series = growth.named(name) if name is not None else None
    if series is not None and len(series.steps) >= 4:
        return climb(series.steps, series.values, LEAST_MADE, ANY_FALLS) is not None
    return (made.last - made.first) / max(1, made.steps) >= LEAST_RATE


def _graphs_stay(growth: Growth) -> bool:
    """Whether function graphs become more to the end, while the process takes more."""
    series, memory = growth.named("graphs"), growth.named("private") or growth.named("rss")
    if series is None or memory is None or climb(series.steps, series.values, LEAST_GRAPHS, MOST_GRAPH_FALLS) is None:
        return False
    rises = sum(later > earlier for earlier, later in pairwise(series.values))
    late = memory.values[len(memory.values) // 2 :]
    return rises >= LEAST_GRAPH_RISES and late[-1] - late[0] >= LEAST_LATE_BYTES


def traced_again(growth: Growth) -> list[Retraced]:
    """The tf.functions that are traced again and again to the end, those most often first."""
    if comes_along(growth, "tf.function"):
        return []
    series = growth.named("traces")
    known = series is not None and len(series.steps) >= 4
    if known and series is not None and climb(series.steps, series.values, LEAST_MADE, ANY_FALLS) is None:
        return []
    found = [
        each
        for each in growth.retraced
        if each.last - each.first >= LEAST_MADE
        and (known or (each.last - each.first) / max(1, each.steps) >= LEAST_RATE)
    ]
    return sorted(found, key=lambda each: each.first - each.last)


def is_keras_call(made: Made | Retraced) -> bool:
    """Whether a line that calls fit, predict or evaluate brought it."""
    source = (made.frame.source or "") if made.frame is not None else ""
    return any(call in source for call in _KERAS_CALLS)
