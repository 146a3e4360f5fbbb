"""A model that lives in the caller's own process, such as a notebook's, traced without changing it.

Covers: a model with its own optimizer, losses and metrics put aside for the time (slots would be made in them, and kept);
a function, which is called with weights that take no memory, and may not train; random states and Keras' names as they
were afterwards.
Does not cover: what else a step makes and keeps (`tensorflow_kept`), models named by a file (`tensorflow_load`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from crashcart.errors import CannotCheckError, UsageError
from crashcart.probe.tensorflow_kept import kept
from crashcart.probe.tensorflow_load import (
    WITHOUT_TRAINING,
    RanError,
    check_arguments,
    check_model,
    first_batch,
    forbidden,
    is_generator,
    is_model,
    parted,
)
from crashcart.probe.tensorflow_twin import passes_of
from crashcart.probe.tensorflow_weights import WeightsReadError, note_without_weights, unallocated

_GLOBAL_SEED = "global_seed_generator"
_NAMES = "object_name_uids"
_POLICY = "dtype_policy"


@contextmanager
def load_live(subject: Any, given: Any = None) -> Iterator[tuple[Any, Any]]:
    """The model, and what a batch of it looks like, to be traced inside the block. `subject` is a model, a pair of it and
    an example, or a function that returns either."""
    with ExitStack() as stack:
        stack.enter_context(_unmoved())
        is_live = is_model(subject) or not callable(subject)
        if is_generator(given) or (is_live and is_generator(parted(subject)[1])):
            raise UsageError(
                "a generator was given as data, and asking it for a batch would take that batch away",
                "Give one batch of it: cc.fit(model, data=(x, y)).",
            )
        made, lean = (subject, False) if is_live else _called(subject)
        model, own = parted(made)
        check_model(model, getattr(subject, "__name__", "what was given"))
        stack.enter_context(kept(model))
        if is_live:
            model = stack.enter_context(_put_aside(model))
        elif lean:
            note_without_weights(model)
        yield model, first_batch(own) if given is None else given


def _called(function: Any) -> tuple[Any, bool]:
    """What the function gives, and whether its weights take no memory."""
    name = getattr(function, "__name__", type(function).__name__)
    check_arguments(function, f"{name}()", name)
    try:
        with forbidden():
            try:
                with unallocated():
                    return function(), True
            except WeightsReadError:
                return function(), False  # it looks at the values of its weights, and gets them
    except RanError as ran:
        raise CannotCheckError(f"{name}() calls {ran.args[0]}", WITHOUT_TRAINING) from None


@contextmanager
def _unmoved() -> Iterator[None]:
    """Random states and the names that Keras gives next are afterwards what they were."""
    import numpy as np
    from keras.src.backend.common import global_state

    states, drawn = random.getstate(), np.random.get_state()
    known = {name: global_state.get_global_attribute(name) for name in (_NAMES, _GLOBAL_SEED, _POLICY)}
    names, seeds = dict(known[_NAMES] or {}), known[_GLOBAL_SEED]
    seed = seeds.state.numpy() if seeds is not None else None
    try:
        yield
    finally:
        random.setstate(states)
        np.random.set_state(drawn)
        for name, value in known.items():
            global_state.set_global_attribute(name, value)
        if known[_NAMES] is not None:
            known[_NAMES].clear()
            known[_NAMES].update(names)
        if seeds is not None:
            seeds.state.assign(seed)


@contextmanager
def _put_aside(model: Any) -> Iterator[Any]:
    """The model with an optimizer, losses and metrics of its own for the time; a copy where it is not built yet."""
    if not _is_built(model):
        yield _copied(model)
        return
    with unallocated():
        fresh = _fresh(model)
    own = {name: vars(model)[name] for name in fresh}
    try:
        for name, value in fresh.items():
            object.__setattr__(model, name, value)
        yield model
    finally:
        for name, value in own.items():
            object.__setattr__(model, name, value)


def _is_built(model: Any) -> bool:
    """Whether all its weights are made. A model whose own step calls its parts is never called, and so never built, itself."""
    import keras

    inner = list(model._flatten_layers(include_self=False))
    if not model.built and (not inner or type(model).build is not keras.Model.build):
        return False
    return all(each.built for each in inner)


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
                own = {each: _metrics(settings[each]) for each in ("metrics", "weighted_metrics") if each in settings}
                copy.compile(**settings | own | {"optimizer": _again(model.optimizer)})
    except Exception as error:
        raise UsageError(
            "the model is not built yet, and cannot be copied to build the copy instead",
            "Give the function that builds the model instead of the model, or call the model once on a batch.",
        ) from error
    if passes_of(model) > 1:
        vars(copy)["train_step"] = vars(model)["train_step"]  # for its number of passes; it is not run
    note_without_weights(copy)
    return copy
