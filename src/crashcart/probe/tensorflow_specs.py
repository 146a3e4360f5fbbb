"""The shapes and types of one batch of a Keras model, without any data.

Covers: inputs from the model itself or from what the caller gives (TensorSpecs, arrays, a dataset, shapes), targets from
the outputs and the losses the model was compiled with. The batch dimension is None throughout.
Does not cover: tracing (`tensorflow_trace`). TensorFlow and Keras are imported when a function is called, not before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Shapes = Sequence[tuple[int | None, ...]]


class SpecsNeededError(Exception):
    """The shapes of a batch cannot be told from the model; the message says which are missing."""


def batch_specs(model: Any, given: Any, phase: str, shapes: Shapes | None = None) -> tuple[Any, ...]:
    """The specs of one batch as Keras hands it to the step: `(x,)` to predict, `(x, y)` or more to train."""
    if given is not None:
        specs = _from_example(given)
        return specs[:1] if phase == "predict" else specs
    inputs = _input_specs(model, shapes)
    if phase == "predict":
        return (inputs,)
    return inputs, _target_specs(model, inputs)


def _from_example(given: Any) -> tuple[Any, ...]:
    import tensorflow as tf

    spec = getattr(given, "element_spec", given)
    if isinstance(given, tf.data.Dataset):
        found = tf.nest.map_structure(lambda each: tf.TensorSpec([None, *each.shape[1:]], each.dtype), spec)
    else:
        found = tf.nest.map_structure(_without_batch, spec)
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def _without_batch(example: Any) -> Any:
    import numpy as np
    import tensorflow as tf

    if not hasattr(example, "shape"):
        example = np.asarray(example)
    return tf.TensorSpec([None, *tuple(example.shape)[1:]], example.dtype)


def _input_specs(model: Any, shapes: Shapes | None) -> Any:
    import tensorflow as tf

    known = _symbolic_inputs(model)
    if known is None:
        if not shapes:
            raise SpecsNeededError("the model is not built, so that the shape of its input is not known")
        found = [tf.TensorSpec([None, *shape], tf.float32) for shape in shapes]
        return found[0] if len(found) == 1 else found
    flat = tf.nest.flatten(known)
    if shapes and len(shapes) != len(flat):
        raise SpecsNeededError(f"the model has {len(flat)} inputs, and {len(shapes)} shapes were given")
    given = shapes or [tuple(each.shape[1:]) for each in flat]
    specs = [tf.TensorSpec([None, *shape], each.dtype) for shape, each in zip(given, flat, strict=True)]
    for spec in specs:
        if None in spec.shape[1:]:
            raise SpecsNeededError(f"the input {spec.shape} has dimensions that are not known")
    return tf.nest.pack_sequence_as(known, specs)


def _symbolic_inputs(model: Any) -> Any:
    inner = getattr(model, "_functional", None) or model
    struct = getattr(inner, "_inputs_struct", None)
    return _plain(struct) if struct is not None else None


def _plain(struct: Any) -> Any:
    if isinstance(struct, dict):
        return {key: _plain(each) for key, each in struct.items()}
    if isinstance(struct, (list, tuple)):
        return [_plain(each) for each in struct] if len(struct) != 1 else _plain(struct[0])
    return struct


def _target_specs(model: Any, inputs: Any) -> Any:
    import keras
    import tensorflow as tf

    outputs = keras.tree.map_structure(lambda each: keras.KerasTensor(each.shape, each.dtype.name), inputs)
    produced = _plain(keras.src.backend.compute_output_spec(model, outputs, training=False))
    losses = _losses(model)
    if isinstance(losses, dict):
        names = list(losses)
        flat = list(zip(tf.nest.flatten(produced), [losses[name] for name in names], strict=False))
    else:
        flat_outputs = tf.nest.flatten(produced)
        each_loss = losses if isinstance(losses, (list, tuple)) else [losses] * len(flat_outputs)
        flat = list(zip(flat_outputs, tf.nest.flatten(each_loss), strict=False))
    specs = [_target(output, loss) for output, loss in flat]
    return tf.nest.pack_sequence_as(produced, specs)


def _losses(model: Any) -> Any:
    holder = getattr(model, "_compile_loss", None)
    return getattr(holder, "_user_loss", None)


def _target(output: Any, loss: Any) -> Any:
    import tensorflow as tf

    name = loss if isinstance(loss, str) else str(getattr(loss, "name", None) or getattr(loss, "__name__", ""))
    if "sparse" in name:
        return tf.TensorSpec(list(output.shape)[:-1], tf.int32)
    return tf.TensorSpec(list(output.shape), tf.float32)
