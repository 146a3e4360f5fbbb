"""A Keras model built again from its own description, with something in it changed.

Covers: functional and sequential models, and subclassed ones that describe themselves (`get_config`); another type
policy, inputs of half the height and width. Losses, metrics and optimizer are taken over. Does not cover: weights
(they are new), tracing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from crashcart.errors import CannotCheckError

# Half of less than this is no image any more for most models, and none for those with five halvings.
LEAST_SIDE = 32


def refused(model: Any) -> str | None:
    """Why the model cannot be built again; None where its description may do."""
    import keras
    from keras.src.models.functional import Functional

    if isinstance(model, Functional) or getattr(model, "_functional", None) is not None:
        return None
    if isinstance(model, keras.Sequential):
        return "the model is not built"
    return "a subclassed model cannot be built again from its description"


def with_policy(model: Any, policy: str) -> Any:
    """The model as it would be if it had been built under that policy."""

    def change(config: dict[str, Any]) -> None:
        if config.get("class_name") == "DTypePolicy" and config.get("config", {}).get("name") == "float32":
            config["config"] = {"name": policy}

    with _policy(policy):
        return _rebuilt(model, change)


def halved_inputs(model: Any) -> list[tuple[int, int]]:
    """Half the height and width of each input that is an image."""
    inner = getattr(model, "_functional", None) or model
    shapes = [tuple(each.shape) for each in getattr(inner, "inputs", None) or ()]
    return [(shape[1] // 2, shape[2] // 2) for shape in shapes if _is_image(shape)]


def with_halved_inputs(model: Any, _: None = None) -> Any:
    """The model for images of half the height and width."""

    def change(config: dict[str, Any]) -> None:
        config.pop("build_config", None)
        config.pop("build_input_shape", None)
        shape = config.get("batch_shape")
        if shape is not None and _is_image(tuple(shape)):
            config["batch_shape"] = (shape[0], shape[1] // 2, shape[2] // 2, shape[3])

    return _rebuilt(model, change)


def _is_image(shape: tuple[int | None, ...]) -> bool:
    if len(shape) != 4 or None in shape[1:]:
        return False
    height, width, channels = (each or 0 for each in shape[1:])
    return min(height, width) >= LEAST_SIDE and channels <= min(height, width)


def _rebuilt(model: Any, change: Callable[[dict[str, Any]], None]) -> Any:
    import keras

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            config = keras.saving.serialize_keras_object(model)
            config.pop("compile_config", None)
            for each in _dicts(config):
                change(each)
            known = {type(each).__name__: type(each) for each in model._flatten_layers()}
            made = keras.saving.deserialize_keras_object(config, custom_objects=known, safe_mode=False)
            if model.compiled:
                made.compile_from_config(model.get_compile_config())
        except Exception as error:
            told = (str(error).strip().splitlines() or [""])[0]
            raise CannotCheckError(f"the model cannot be built again: {type(error).__name__}: {told[:200]}") from error
    if model.compiled and not made.compiled:
        raise CannotCheckError("what the model was compiled with cannot be described, and not taken over")
    return made


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for each in list(value.values()):
            yield from _dicts(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _dicts(each)


@contextmanager
def _policy(name: str) -> Iterator[None]:
    import keras

    kept = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(kept)
