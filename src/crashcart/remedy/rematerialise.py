"""A model that computes activations again in the backward pass instead of keeping them.

Covers: functional and sequential models, cut where little crosses the cut (`segments.py`), also models within models;
subclassed models, by the layers that are named or that consist of layers themselves. The given model stays as it is;
the one returned is its twin, with the same weights, optimizer and compiled losses. Outside of training it runs as
before.
Does not cover: how a part is computed again (`recompute.py`). The last part is kept: its gradient comes at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

from crashcart.errors import UsageError
from crashcart.probe.tensorflow_twin import passes_of, twin
from crashcart.remedy.passes import accumulate
from crashcart.remedy.recompute import recomputed
from crashcart.remedy.segments import Step, parts

# What a layer that is made of layers holds within itself, times its output: four to ten in a transformer's or a residual block.
COMPOSITE = 6


def remat(model: Any, layers: Iterable[Any] | None = None) -> Any:
    """A model on the same weights that keeps fewer activations while it trains, at about one more forward pass.

    `layers` (names or layers) says which are computed again; without it, the parts are chosen. Train the model that is returned.
    """
    import keras

    if not isinstance(model, keras.Model):
        raise UsageError(f"received an object of type {type(model).__name__}; expected a keras.Model")
    chosen = None if layers is None else _named(model, layers)
    found = _rematerialised(model, chosen)
    if found is None:
        raise UsageError(
            f"{model.name} has no part that is worth computing again",
            "Name the layers: remat(model, layers=[…]). A layer that consists of several saves what is within it.",
        )
    # The given model's step in passes runs that model; the twin gets one of its own.
    return accumulate(found, passes_of(model)) if passes_of(model) > 1 else found


def _named(model: Any, layers: Iterable[Any]) -> set[int]:
    known = {each.name: each for each in model._flatten_layers(include_self=False)}
    wanted = list(layers)
    missing = [each for each in wanted if isinstance(each, str) and each not in known]
    if missing:
        raise UsageError(f"{model.name} has no layer {missing[0]}", f"It has {', '.join(list(known)[:20])}.")
    return {id(known[each] if isinstance(each, str) else each) for each in wanted}


def _rematerialised(model: Any, chosen: set[int] | None) -> Any:
    """The twin; None where nothing would be computed again."""
    from keras.src.models.functional import Functional

    if isinstance(model, Functional):
        return _functional(model, chosen)
    inner = getattr(model, "_functional", None)
    if inner is not None:
        within = _functional(inner, chosen)
        if within is None:
            return None
        found = twin(model)
        vars(found)["_functional"] = within
        return found
    import keras

    if isinstance(model, keras.Sequential) and chosen is None:
        raise UsageError(
            "the model is not built, so that its layers' sizes are not known",
            "Begin it with keras.Input(shape), or call model.build((None, …)) first.",
        )
    return _subclassed(model, chosen)


class _Plan:
    """The nodes of a functional model in the order in which they run, in parts."""

    def __init__(self, model: Any, chosen: set[int] | None) -> None:
        self.model, self.chosen = model, chosen
        self.nodes = [
            node
            for depth in sorted(model._nodes_by_depth, reverse=True)
            for node in model._nodes_by_depth[depth]
            if node.operation and not node.is_input
        ]
        self.within = {id(each.operation): self._nested(each.operation) for each in self.nodes}
        self.last: dict[int, int] = {}
        for number, node in enumerate(self.nodes):
            self.last |= {id(each): number for each in node.input_tensors}
        self.last |= {id(each): len(self.nodes) for each in model.outputs}
        self.parts = self._chosen_parts() if chosen is not None else self._found_parts()

    @property
    def useful(self) -> bool:
        return any(again for _, _, again in self.parts) or any(each is not None for each in self.within.values())

    def _nested(self, operation: Any) -> Any:
        """The twin of a model within the model, where it has parts of its own to compute again."""
        import keras

        own = isinstance(operation, keras.Model) and (self.chosen is None or id(operation) not in self.chosen)
        return _rematerialised(operation, self.chosen) if own and _is_graph(operation) else None

    def _found_parts(self) -> list[tuple[int, int, bool]]:
        steps = [self._step(number, node) for number, node in enumerate(self.nodes)]
        return [(begin, end, _saves(steps, begin, end)) for begin, end in parts(steps)]

    def _step(self, number: int, node: Any) -> Step:
        import keras

        out_bytes = sum(_bytes(each) for each in node.outputs)
        composite = isinstance(node.operation, keras.Layer) and bool(node.operation._layers)
        last = max((self.last.get(id(each), number) for each in node.outputs), default=number)
        # What takes no float (an embedding) has no gradient to wait for, and a model within has its own parts.
        alone = self.within[id(node.operation)] is not None or not any(_is_float(each) for each in node.input_tensors)
        return Step(out_bytes * (COMPOSITE if composite else 1), out_bytes, last, alone)

    def _chosen_parts(self) -> list[tuple[int, int, bool]]:
        """Neighbours in the order that are chosen make one part."""
        assert self.chosen is not None
        found: list[tuple[int, int, bool]] = []
        for number, node in enumerate(self.nodes):
            again = id(node.operation) in self.chosen
            if found and found[-1][2] and again:
                found[-1] = (found[-1][0], number + 1, True)
            else:
                found.append((number, number + 1, again))
        return found

    def ran(self, inputs: list[Any], training: Any, fused: bool) -> list[Any]:
        """The model's outputs, in flat order."""
        known = {id(symbol): value for symbol, value in zip(self.model.inputs, inputs, strict=True)}
        for begin, end, again in self.parts:
            if again:
                self._run_again(begin, end, known, training, fused)
            else:
                self._run(begin, end, known, training)
        return [known[id(each)] for each in self.model.outputs]

    def _run(self, begin: int, end: int, known: dict[int, Any], training: Any) -> None:
        import keras

        for node in self.nodes[begin:end]:
            if any(id(each) not in known for each in node.input_tensors):
                continue
            args, kwargs = node.arguments.fill_in(known)
            operation = self.within[id(node.operation)] or node.operation
            if training is not None and getattr(operation, "_call_has_training_arg", False):
                kwargs = {**kwargs, "training": training}
            outputs = keras.tree.flatten(operation(*args, **kwargs))
            known |= {id(symbol): value for symbol, value in zip(node.outputs, outputs, strict=True)}

    def _run_again(self, begin: int, end: int, known: dict[int, Any], training: Any, fused: bool) -> None:
        import keras

        nodes = self.nodes[begin:end]
        made = {id(each) for node in nodes for each in node.outputs}
        read = list({id(each): None for node in nodes for each in node.input_tensors if id(each) not in made})
        read = [each for each in read if each in known]
        given = [each for node in nodes for each in node.outputs if self.last.get(id(each), -1) >= end]

        def run(values: list[Any]) -> list[Any]:
            local = dict(zip(read, values, strict=True))
            self._run(begin, end, local, training)
            return [local[id(each)] for each in given]

        layers = [each.operation for each in nodes if isinstance(each.operation, keras.Layer)]
        results = recomputed(run, [known[each] for each in read], layers, fused)
        known |= {id(symbol): value for symbol, value in zip(given, results, strict=True)}


def _saves(steps: list[Step], begin: int, end: int) -> bool:
    """Whether computing a part again keeps less: what is within it is more than what is given out of it. The last part is
    kept; its gradient comes at once."""
    if end == len(steps) or steps[begin].alone:
        return False
    given = sum(each.out_bytes for each in steps[begin:end] if each.last_reader >= end)
    return sum(each.held_bytes for each in steps[begin:end]) > given


def _functional(model: Any, chosen: set[int] | None) -> Any:
    plan = _Plan(model, chosen)
    if not plan.useful:
        return None
    own = type(model).call

    def call(self: Any, inputs: Any, training: Any = None, mask: Any = None, **kwargs: Any) -> Any:
        import keras

        if not training:
            return own(self, inputs, training=training, mask=mask, **kwargs)
        flat = self._standardize_inputs(inputs)
        for value, each in zip(flat, keras.tree.flatten(mask) if mask is not None else (), strict=False):
            if each is not None:
                value._keras_mask = each
        outputs = plan.ran(flat, training, bool(getattr(self, "jit_compile", False)))
        packed = keras.tree.pack_sequence_as(self._outputs_struct, outputs)
        return packed[0] if isinstance(packed, (list, tuple)) and len(packed) == 1 else packed

    return twin(model, call=call)


def _subclassed(model: Any, chosen: set[int] | None) -> Any:
    """The layers are shared with the given model, so that they are changed only while the twin is being called."""
    blocks = [each for each in model.layers if each._layers or _is_graph(each)] if chosen is None else None
    if blocks is None:
        blocks = [each for each in model._flatten_layers(include_self=False) if id(each) in (chosen or ())]
    if not blocks:
        return None
    own = type(model).call

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _again(blocks, bool(getattr(self, "jit_compile", False))):
            return own(self, *args, **kwargs)

    return twin(model, call=call)


@contextmanager
def _again(blocks: list[Any], fused: bool) -> Iterator[None]:
    for block in blocks:
        vars(block)["call"] = _call_again(block, fused)
    try:
        yield
    finally:
        for block in blocks:
            vars(block).pop("call", None)


def _call_again(block: Any, fused: bool) -> Any:
    own = type(block).call

    def call(*args: Any, **kwargs: Any) -> Any:
        import keras
        import tensorflow as tf

        flat = keras.tree.flatten((args, kwargs))
        where = [number for number, each in enumerate(flat) if tf.is_tensor(each)]
        shape: list[Any] = []

        def run(values: list[Any]) -> list[Any]:
            given = list(flat)
            for number, value in zip(where, values, strict=True):
                given[number] = value
            again_args, again_kwargs = keras.tree.pack_sequence_as((args, kwargs), given)
            result = own(block, *again_args, **again_kwargs)
            shape[:] = [result]
            found: list[Any] = keras.tree.flatten(result)
            return found

        results = recomputed(run, [flat[each] for each in where], [block], fused)
        return keras.tree.pack_sequence_as(shape[0], results)

    return call


def _is_graph(operation: Any) -> bool:
    return hasattr(operation, "_nodes_by_depth") or getattr(operation, "_functional", None) is not None


def _is_float(tensor: Any) -> bool:
    return "float" in str(tensor.dtype)


def _bytes(tensor: Any) -> int:
    """Of one example. A length that is left open counts once; it is the same on both sides of any cut."""
    import keras

    items = prod(each or 1 for each in tensor.shape[1:])
    width = {"float64": 8, "int64": 8, "float16": 2, "bfloat16": 2, "bool": 1, "uint8": 1, "int8": 1}
    return int(items * width.get(keras.backend.standardize_dtype(tensor.dtype), 4))
