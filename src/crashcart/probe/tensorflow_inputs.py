"""What a Keras model says itself about its inputs: by its symbols, by the shapes that it was built with, or that it says nothing.

Covers: functional, sequential and subclassed models, built or not; models without a call. Does not cover: what the caller gives,
and dimensions that are left open (`tensorflow_specs`). TensorFlow and Keras are imported when a function is called.
"""

from __future__ import annotations

import inspect
from typing import Any


def symbolic_inputs(model: Any) -> Any:
    """The symbols that a functional or sequential model was made with; None where it is neither."""
    inner = getattr(model, "_functional", None) or model
    struct = getattr(inner, "_inputs_struct", None)
    return plain_structure(struct) if struct is not None else None


def known_inputs(model: Any) -> Any:
    """What there is of either; None without."""
    known = symbolic_inputs(model)
    return built_inputs(model, []) if known is None else known


def fixed_batch(model: Any) -> int | None:
    """The one batch that the model takes (`keras.Input(batch_shape=(16, 8))`); None where it takes any."""
    import tensorflow as tf

    known = symbolic_inputs(model)
    firsts = {each.shape[0] for each in tf.nest.flatten(known) if each.shape} if known is not None else set()
    return next((int(each) for each in firsts if each is not None), None)


def built_inputs(model: Any, assumed: list[str]) -> Any:
    """The inputs of a model that Keras cannot draw, by the shapes that it was built with when it was called first."""
    import tensorflow as tf

    built = getattr(model, "_build_shapes_dict", None) or {}
    if len(built) != 1 or None in built.values():
        return None
    kind = input_type(model, assumed)

    def spec(shape: Any) -> Any:
        if isinstance(shape, dict):
            return {name: spec(each) for name, each in shape.items()}
        if all(each is None or isinstance(each, int) for each in shape):
            return tf.TensorSpec(shape, kind)
        return [spec(each) for each in shape]

    return spec(next(iter(built.values())))


def input_type(model: Any, assumed: list[str]) -> Any:
    """What kind of numbers a model takes that does not say so: whole ones where its first layer looks them up."""
    import keras
    import tensorflow as tf

    first = next(iter(model._flatten_layers(include_self=False, recursive=False)), None)
    while isinstance(first, keras.Sequential) and first.layers:
        first = first.layers[0]
    if isinstance(first, keras.layers.Embedding):
        assumed.append("inputs of type int32, because an Embedding comes first")
        return tf.int32
    return tf.as_dtype(keras.backend.floatx())


def lacking(model: Any) -> str:
    """What is missing, where neither is known."""
    import keras

    kind = type(model).__name__
    if kind == "Sequential":
        return "the model is not built: it has no keras.Input, so that the shape of its input is not known"
    if type(model).call is keras.Model.call:
        return f"{kind} has no call, so that the shape of what its steps take is not known"
    taken = [
        name for name in inspect.signature(model.call).parameters if name not in ("training", "mask", "args", "kwargs")
    ]
    why = "was never called as a whole" if _holds_built(model) else "is not built"
    return f"the model {why}, so that the shape of {taken[0] if taken else 'what'} in {kind}.call is not known"


def _holds_built(model: Any) -> bool:
    inner = list(model._flatten_layers(include_self=False))
    return bool(inner) and all(each.built for each in inner)


def plain_structure(struct: Any) -> Any:
    """Dicts and lists alone; a list of one is that one."""
    if isinstance(struct, dict):
        return {key: plain_structure(each) for key, each in struct.items()}
    if isinstance(struct, (list, tuple)):
        return [plain_structure(each) for each in struct] if len(struct) != 1 else plain_structure(struct[0])
    return struct
