"""A train step that takes its batch in passes, traced as one pass of the plain step.

Covers: a model whose step was cut (`passes_of`), and what such a step would take. The step itself is a loop over passes.
Walked as a loop, a pass would run one operation at a time, and its batch would be unknown; a pass of a real step runs as
many as there are cores, like the plain step.
Does not cover: cutting the step (`remedy/`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from crashcart.graph import Graph, Variable
from crashcart.probe.tensorflow_sizes import variable_bytes
from crashcart.probe.tensorflow_trace import ANY_BATCH, Trace
from crashcart.probe.tensorflow_twin import twin


def traced(model: Any, specs: tuple[Any, ...], phase: str, passes: int, batch: int = ANY_BATCH) -> Trace | Passes:
    """The step; in that many passes where it trains. A step in passes that the model has itself is put aside. `batch` is the one
    that will be asked for first."""
    if phase != "train" or passes < 2:
        return Trace(model, specs, phase, batch)
    return Passes(Trace(twin(model), specs, phase, pass_batch(batch, passes)), model, specs, passes)


class Passes:
    """A step in passes: the plain step at the batch of a pass, beside the sums of the gradients and the rest of the batch."""

    def __init__(self, trace: Trace, model: Any, specs: Any, passes: int) -> None:
        import tensorflow as tf

        self._trace, self._passes = trace, passes
        self.notes = trace.notes
        # Of each input, the bytes of one example; a length that is left open counts once.
        self._example_bytes = [
            each.dtype.size * int(tf.TensorShape([extent or 1 for extent in each.shape[1:]]).num_elements())
            for each in tf.nest.flatten(specs)
            if each is not None
        ]
        self._sums = [
            Variable(f"sum of gradients of {each.path}", variable_bytes(each), "gradients")
            for each in model.trainable_variables
        ]

    def at(self, batch: int) -> Graph:
        """The step at that batch of all passes together."""
        one = pass_batch(batch, self._passes)
        graph = self._trace.at(one)
        held = [
            Variable(f"the rest of input {number}", (batch - one) * each, "input")
            for number, each in enumerate(self._example_bytes)
        ]
        return replace(graph, variables=(*graph.variables, *held, *self._sums))


def pass_batch(batch: int, passes: int) -> int:
    """The largest of the passes."""
    return -(-batch // passes)
