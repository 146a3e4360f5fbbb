"""What the checks of remedies share: small models, training, comparing, and the allocator's peak."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf


def exact() -> None:
    """In double precision, in which a wrong gradient cannot hide behind rounding."""
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")


def trained(
    build: Callable[[], Any], change: Callable[[Any], Any] | None, x: Any, y: Any, **options: Any
) -> tuple[Any, Any]:
    """The weights (and moving statistics) after training from one random state, and what `fit` reported."""
    keras.utils.set_random_seed(11)
    model = build()
    model = change(model) if change else model
    history = model.fit(x, y, verbose=0, **{"epochs": 2, "shuffle": False, **options}).history
    return [each.numpy() for each in model.weights], history


def assert_same(plain: tuple[Any, Any], other: tuple[Any, Any], tolerance: float = 1e-9) -> None:
    for one, two in zip(plain[0], other[0], strict=True):
        np.testing.assert_allclose(two, one, rtol=tolerance, atol=tolerance)
    assert plain[1].keys() == other[1].keys()
    for name, values in plain[1].items():
        np.testing.assert_allclose(
            other[1][name], values, rtol=max(tolerance, 1e-6), atol=max(tolerance, 1e-6), err_msg=name
        )


def assert_differs(plain: tuple[Any, Any], other: tuple[Any, Any]) -> None:
    assert any(np.abs(one - two).max() > 1e-4 for one, two in zip(plain[0], other[0], strict=True))


def numbers(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def peak_bytes(model: Any, x: Any, y: Any) -> int:
    """Of a train step on one batch, the most of steps 2 to 4; the batch is made within each step."""
    data = (
        tf.data.Dataset.from_tensors(0).repeat().map(lambda _: (tf.zeros(x.shape, x.dtype), tf.zeros(y.shape, y.dtype)))
    )
    options = tf.data.Options()
    options.autotune.enabled = False
    iterator = iter(data.with_options(options))
    model._symbolic_build(data_batch=(x, y))
    model.make_train_function()
    most = 0
    for step in range(4):
        tf.config.experimental.reset_memory_stats("CPU:0")
        model.train_function(iterator)
        if step:
            most = max(most, tf.config.experimental.get_memory_info("CPU:0")["peak"])
    return most
