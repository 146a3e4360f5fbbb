"""A part of a forward pass whose activations are not kept, but computed again when the gradient comes.

Covers: the same result and the same gradient as without. What the part reads and writes besides its inputs is taken
care of: the second run sees the state of the first (moving statistics, seeds of Dropout), so that it draws the same
masks, and what it writes is thrown away, so that statistics are updated once; losses that layers add are given out
and keep their gradient; masks of Keras go in and come out. Does not cover: which parts (`segments.py`), gradients of
gradients, random numbers drawn by TensorFlow's own stateful generators (refused: they would differ in the second
run).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from crashcart.errors import UsageError

Run = Callable[[list[Any]], list[Any]]
_CALL, _AUTOCAST = "current_call_ctx", "autocast_scope"  # the names that Keras keeps them under
_STATEFUL = frozenset(
    {
        *(
            "RandomUniform",
            "RandomUniformInt",
            "RandomStandardNormal",
            "TruncatedNormal",
            "ParameterizedTruncatedNormal",
        ),
        *(
            "Multinomial",
            "RandomGamma",
            "RandomPoissonV2",
            "RandomShuffle",
            "StatefulUniform",
            "StatefulStandardNormalV2",
        ),
    }
)


def recomputed(run: Run, inputs: Sequence[Any], layers: Sequence[Any], fused: bool) -> list[Any]:
    """What `run(inputs)` gives. `layers` are those that it calls; `fused` says that XLA compiles the step."""
    import tensorflow as tf

    part = _Part(run, inputs, layers, fused)
    if not part.moving:
        return run(list(inputs))
    differentiable = tf.custom_gradient(part.forward)(*[inputs[each] for each in part.moving])
    return part.outputs(list(differentiable))


class _Part:
    def __init__(self, run: Run, inputs: Sequence[Any], layers: Sequence[Any], fused: bool) -> None:
        self.run, self.inputs, self.fused = run, list(inputs), fused
        self.layers = list({id(each): each for layer in layers for each in layer._flatten_layers()}.values())
        self.moving = [number for number, each in enumerate(inputs) if is_float(each)]
        self.masks = [getattr(each, "_keras_mask", None) for each in inputs]
        self.first: list[Any] = []
        self.added: list[tuple[Any, Any]] = []

    def forward(self, *values: Any) -> Any:
        import tensorflow as tf
        from tensorflow.python.eager import record

        states = [(each, tf.identity(each._value)) for each in self._states()]
        around = _Surroundings()
        known, counts = _operations(), [len(each._losses) for each in self.layers]
        with record.stop_recording():
            self.first = self._ran(values)
        _refuse_random(known)
        self.added = self._taken_losses(counts)

        def gradient(*upstream: Any, variables: Any = ()) -> Any:
            return self._gradient(values, states, around, upstream, list(variables or ()))

        floats = [each for each in self.first if is_float(each)] + [loss for _, loss in self.added]
        return floats, gradient

    def outputs(self, differentiable: list[Any]) -> list[Any]:
        """The results of the part, in order; those without a gradient as the first run gave them."""
        results = []
        for each in self.first:
            result = differentiable.pop(0) if is_float(each) else each
            mask = getattr(each, "_keras_mask", None)
            if mask is not None and result is not each:
                result._keras_mask = mask
            results.append(result)
        for (layer, _), loss in zip(self.added, differentiable, strict=True):
            layer._losses.append(loss)
        return results

    def _gradient(self, values: Any, states: Any, around: _Surroundings, upstream: Any, variables: list[Any]) -> Any:
        import keras
        import tensorflow as tf

        again = _after(values, upstream, self.fused)
        with around.entered(), keras.StatelessScope(states, collect_losses=True) as scope:
            with tf.GradientTape() as tape:
                tape.watch(again)
                results = [each for each in self._ran(again) if is_float(each)]
            own = {id(each): each for each in scope.losses}
            results += [own[each] for layer in self.layers for each in own if each in layer._loss_ids]
        found = tape.gradient(results, [*again, *variables], output_gradients=list(upstream))
        count = len(again)
        return (found[:count], found[count:]) if variables else found

    def _ran(self, values: Any) -> list[Any]:
        given = list(self.inputs)
        for number, value in zip(self.moving, values, strict=True):
            given[number] = value
        for value, mask in zip(given, self.masks, strict=True):
            if mask is not None:
                value._keras_mask = mask
        return self.run(given)

    def _states(self) -> list[Any]:
        """Variables that the layers may change while they run, and seeds."""
        found = [each for layer in self.layers for each in (*layer._non_trainable_variables, *_seeds(layer))]
        return list({id(each): each for each in [*found, _global_seed()]}.values())

    def _taken_losses(self, counts: list[int]) -> list[tuple[Any, Any]]:
        """The losses that the layers added; the model gets them back with their gradients."""
        taken = []
        for layer, count in zip(self.layers, counts, strict=True):
            held = list(layer._losses)
            taken += [(layer, each) for each in held[count:]]
            layer._losses.clear()
            layer._losses.extend(held[:count])
        return taken


def _global_seed() -> Any:
    """Of what layers draw without a seed of their own. Making it draws from Python's numbers, which are set back."""
    from keras.src.random.seed_generator import global_seed_generator

    kept = random.getstate()
    try:
        return global_seed_generator().state
    finally:
        random.setstate(kept)


def _seeds(layer: Any) -> list[Any]:
    return [each.state for each in getattr(layer, "_seed_generators", ())]


class _Surroundings:
    """What layers look up in Keras while they run: the call that they belong to (with its `training`), and the type that
    variables are read as. Layers called within do not clear each other's losses."""

    def __init__(self) -> None:
        from keras.src.backend.common import global_state
        from keras.src.layers.layer import CallContext

        self._state = global_state
        known = global_state.get_global_attribute(_CALL)
        self._call = CallContext(entry_layer=object())
        vars(self._call).update({**(vars(known) if known is not None else {}), "entry_layer": object()})
        self._scope = global_state.get_global_attribute(_AUTOCAST)

    @contextmanager
    def entered(self) -> Iterator[None]:
        kept = [self._state.get_global_attribute(each) for each in (_CALL, _AUTOCAST)]
        self._set(self._call, self._scope)
        try:
            yield
        finally:
            self._set(*kept)

    def _set(self, call: Any, scope: Any) -> None:
        self._state.set_global_attribute(_CALL, call)
        self._state.set_global_attribute(_AUTOCAST, scope)


def is_float(value: Any) -> bool:
    """Whether a gradient can flow through it."""
    dtype = getattr(value, "dtype", None)
    return bool(getattr(dtype, "is_floating", False) or getattr(dtype, "is_complex", False))


def _after(values: Sequence[Any], upstream: Sequence[Any], fused: bool) -> list[Any]:
    """The values, not to be used before the gradient is there: else TensorFlow would run the part again at once."""
    import tensorflow as tf

    if not fused:
        with tf.control_dependencies([each for each in upstream if each is not None]):
            return [tf.identity(each) for each in values]
    # XLA has no order but that of data: a zero that hangs on the gradient is added.
    first = tf.reshape(upstream[0], [-1])[:1]
    nothing = tf.reduce_sum(tf.where(tf.math.is_finite(first), tf.zeros_like(first), -tf.zeros_like(first)))
    return [each + tf.cast(nothing, each.dtype) for each in values]


def _operations() -> int | None:
    import tensorflow as tf

    return None if tf.executing_eagerly() else len(tf.compat.v1.get_default_graph().get_operations())


def _refuse_random(known: int | None) -> None:
    import tensorflow as tf

    if known is None:
        return
    for operation in tf.compat.v1.get_default_graph().get_operations()[known:]:
        if operation.type in _STATEFUL:
            raise UsageError(
                f"{operation.name} draws random numbers without a seed of Keras, and would draw others when it is run again",
                "Use keras.random with a SeedGenerator there, or leave its layer out: remat(model, layers=[…]).",
            )
