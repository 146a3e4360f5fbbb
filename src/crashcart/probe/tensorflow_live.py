"""A model that lives in the caller's own process, such as a notebook's, traced without changing it.

Covers: a model with its own optimizer, losses and metrics put aside for the time (slots would be made in them, and kept);
a function, which is called with weights that take no memory; random states and Keras' names as they were afterwards.
Does not cover: models named by a file (`tensorflow_load`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from crashcart.errors import UsageError
from crashcart.probe.tensorflow_load import check_arguments, check_model, is_model, parted
from crashcart.probe.tensorflow_twin import passes_of
from crashcart.probe.tensorflow_weights import WeightsReadError, unallocated

_GLOBAL_SEED = "global_seed_generator"
_NAMES = "object_name_uids"
_POLICY = "dtype_policy"


@contextmanager
def load_live(subject: Any, given: Any = None) -> Iterator[tuple[Any, Any]]:
    """The model, and what a batch of it looks like, to be traced inside the block. `subject` is a model, a pair of it and
    an example, or a function that returns either."""
    with ExitStack() as stack:
        stack.enter_context(_unmoved())
        model, own = parted(subject if is_model(subject) or not callable(subject) else _called(subject))
        check_model(model, getattr(subject, "__name__", "what was given"))
        if is_model(subject) or not callable(subject):
            model = stack.enter_context(_put_aside(model))
        yield model, own if given is None else given


def _called(function: Any) -> Any:
    name = getattr(function, "__name__", type(function).__name__)
    check_arguments(function, f"{name}()", name)
    try:
        with unallocated():
            return function()
    except WeightsReadError:
        return function()  # it looks at the values of its weights, and gets them


@contextmanager
def _unmoved() -> Iterator[None]:
    """Random states and the names that Keras gives next are afterwards what they were."""
    import numpy as np
    from keras.src.backend.common import global_state

    states, drawn = random.getstate(), np.random.get_state()
    kept = {name: global_state.get_global_attribute(name) for name in (_NAMES, _GLOBAL_SEED, _POLICY)}
    names, seeds = dict(kept[_NAMES] or {}), kept[_GLOBAL_SEED]
    seed = seeds.state.numpy() if seeds is not None else None
    try:
        yield
    finally:
        random.setstate(states)
        np.random.set_state(drawn)
        for name, value in kept.items():
            global_state.set_global_attribute(name, value)
        if kept[_NAMES] is not None:
            kept[_NAMES].clear()
            kept[_NAMES].update(names)
        if seeds is not None:
            seeds.state.assign(seed)


@contextmanager
def _put_aside(model: Any) -> Iterator[Any]:
    """The model with an optimizer, losses and metrics of its own for the time; a copy where it is not built yet."""
    if not all(each.built for each in model._flatten_layers()):
        yield _copied(model)
        return
    with unallocated():
        fresh = _fresh(model)
    kept = {name: vars(model)[name] for name in fresh}
    losses = [(each, list(each._losses)) for each in model._flatten_layers()]
    try:
        for name, value in fresh.items():
            object.__setattr__(model, name, value)
        yield model
    finally:
        for name, value in kept.items():
            object.__setattr__(model, name, value)
        for layer, values in losses:
            layer._losses[:] = values


def _fresh(model: Any) -> dict[str, Any]:
    """What a step changes or builds, made anew as it was when the model was compiled."""
    import keras
    from keras.src.trainers.compile_utils import CompileLoss, CompileMetrics

    optimizers = {name: each for name, each in vars(model).items() if isinstance(each, keras.optimizers.Optimizer)}
    found = {name: _again(each) for name, each in optimizers.items() if not each.built}
    loss, metrics = model._compile_loss, model._compile_metrics
    if loss is not None:
        found["_compile_loss"] = CompileLoss(loss._user_loss, loss._user_loss_weights, output_names=loss.output_names)
    if metrics is not None:
        own = [_metrics(each) for each in (metrics._user_metrics, metrics._user_weighted_metrics)]
        found["_compile_metrics"] = CompileMetrics(*own, output_names=metrics.output_names)
    return found


def _metrics(given: Any) -> Any:
    import keras

    if isinstance(given, dict):
        return {key: _metrics(each) for key, each in given.items()}
    if isinstance(given, (list, tuple)):
        return [_metrics(each) for each in given]
    return _again(given) if isinstance(given, keras.Metric) else given


def _again(thing: Any) -> Any:
    """A new one of the same kind with the same settings."""
    try:
        return type(thing).from_config(thing.get_config())
    except Exception as error:
        raise UsageError(
            f"the model's {type(thing).__name__} cannot be copied, and must not be changed: {error}",
            "Give the function that builds the model instead of the model.",
        ) from error


def _copied(model: Any) -> Any:
    """A model that is not built, once more; nothing of it has been made yet."""
    try:
        with unallocated():
            copy = type(model).from_config(model.get_config())
            if model.compiled:
                settings = dict(model._compile_config.config)
                copy.compile(**settings | {"optimizer": _again(model.optimizer)})
    except Exception as error:
        raise UsageError(
            "the model is not built yet, and cannot be copied to build the copy instead",
            "Give the function that builds the model instead of the model, or call the model once on a batch.",
        ) from error
    if passes_of(model) > 1:
        vars(copy)["train_step"] = vars(model)["train_step"]  # for its number of passes; it is not run
    return copy
