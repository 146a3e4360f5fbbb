"""Accumulation: the same weights and figures as with the whole batch."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

import crashcart as cc
from crashcart.errors import UsageError
from tests.unit.remedy.measure import assert_differs, assert_same, exact, numbers, peak_bytes, trained


def four(model: Any) -> Any:
    return cc.remedy.accumulate(model, 4)


def dense(loss: Any = "mse", optimizer: Any = None, activity: Any = "l2", **compile_options: Any) -> Any:
    model = keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(16, activation="tanh", kernel_regularizer="l2", activity_regularizer=activity),
            layers.Dense(3),
        ]
    )
    model.compile(optimizer or keras.optimizers.Adam(0.01), loss, **compile_options)
    return model


def same(build: Any, x: Any, y: Any, tolerance: float = 1e-9, **options: Any) -> None:
    options = {"batch_size": 24, **options}
    assert_same(trained(build, None, x, y, **options), trained(build, four, x, y, **options), tolerance)


def check_the_weights_are_those_of_the_whole_batch() -> None:
    exact()
    same(dense, numbers(72, 6), numbers(72, 3))


def check_a_batch_that_does_not_divide_counts_every_example_once() -> None:
    exact()
    same(dense, numbers(75, 6), numbers(75, 3), batch_size=25)


def check_a_last_batch_smaller_than_the_number_of_passes() -> None:
    exact()
    same(dense, numbers(50, 6), numbers(50, 3))


def check_a_mean_of_passes_would_not_do() -> None:
    """The check itself can fail: passes of 7, 7, 7 and 4 examples in equal parts give other weights."""
    exact()
    x, y = numbers(75, 6), numbers(75, 3)
    optimizer = keras.optimizers.Adam(0.01, gradient_accumulation_steps=4)
    plain = trained(dense, None, x, y, batch_size=25)
    assert_differs(plain, trained(lambda: dense(optimizer=optimizer), None, x, y, batch_size=7))


def check_sample_weights() -> None:
    exact()
    same(dense, numbers(72, 6), numbers(72, 3), sample_weight=np.linspace(0.1, 2, 72), batch_size=25)


def check_class_weights_and_metrics() -> None:
    exact()

    def build() -> Any:
        model = keras.Sequential([keras.Input((6,)), layers.Dense(8, activation="relu"), layers.Dense(3, "softmax")])
        model.compile("rmsprop", "sparse_categorical_crossentropy", metrics=["accuracy"], weighted_metrics=["accuracy"])
        return model

    y = np.arange(75) % 3
    same(build, numbers(75, 6), y, class_weight={0: 1.0, 1: 3.0, 2: 0.5}, batch_size=25)


def check_a_sum_is_a_sum() -> None:
    exact()
    same(
        lambda: dense(keras.losses.MeanSquaredError(reduction="sum"), "sgd"),
        numbers(75, 6) / 9,
        numbers(75, 3),
        batch_size=25,
    )


def check_a_mean_over_sample_weights() -> None:
    exact()
    loss = keras.losses.MeanSquaredError(reduction="mean_with_sample_weight")
    same(lambda: dense(loss), numbers(75, 6), numbers(75, 3), sample_weight=np.linspace(0.1, 2, 75), batch_size=25)


def check_a_value_per_example_is_refused() -> None:
    model = four(dense(keras.losses.MeanSquaredError(reduction="none")))
    with pytest.raises(UsageError, match="no share per pass"):
        model.fit(numbers(8, 6), numbers(8, 3), verbose=0)


def masked() -> Any:
    model = keras.Sequential(
        [
            keras.Input((5,), dtype="int32"),
            layers.Embedding(12, 4, mask_zero=True),
            layers.LSTM(6, return_sequences=True),
            layers.Dense(2),
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), "mse")
    return model


def words(count: int) -> Any:
    return np.random.default_rng(3).integers(0, 12, (count, 5)) * (np.arange(5) < np.arange(count)[:, None] % 5 + 1)


def check_masks_count_the_valid_entries_of_the_whole_batch() -> None:
    exact()
    same(masked, words(50), numbers(50, 5, 2), batch_size=25)


def check_masks_with_sample_weights() -> None:
    exact()
    same(masked, words(50), numbers(50, 5, 2), batch_size=25, sample_weight=np.linspace(0.2, 2, 250).reshape(50, 5))


def check_a_class_that_is_left_out() -> None:
    exact()

    def build() -> Any:
        model = keras.Sequential([keras.Input((6,)), layers.Dense(8, activation="relu"), layers.Dense(3)])
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1))
        return model

    same(build, numbers(50, 6), np.arange(50) % 5 % 4 - 1, batch_size=25)


def check_sparse_inputs_are_refused() -> None:
    """Their gradients have each row once; those of passes, added up, do not, and Adam squares rows one by one."""
    inputs = keras.Input((6,), sparse=True)
    model = keras.Model(inputs, layers.Dense(3)(inputs))
    model.compile("adam", "mse")
    with pytest.raises(UsageError, match="the batch holds a SparseTensor"):
        four(model).fit(tf.sparse.from_dense(numbers(8, 6)), numbers(8, 3), verbose=0)


def check_several_outputs() -> None:
    exact()

    def build() -> Any:
        left, right = keras.Input((4,), name="left"), keras.Input((3,), name="right")
        x = layers.Concatenate()([layers.Dense(8, "tanh")(left), right])
        outputs = {"size": layers.Dense(1, name="size")(x), "kind": layers.Dense(3, "softmax", name="kind")(x)}
        model = keras.Model({"left": left, "right": right}, outputs)
        losses = {"size": keras.losses.MeanAbsoluteError(reduction="sum"), "kind": "sparse_categorical_crossentropy"}
        model.compile("adam", losses, loss_weights={"size": 0.3, "kind": 2.0}, metrics={"kind": ["accuracy"]})
        return model

    x = {"left": numbers(48, 4), "right": numbers(48, 3)}
    same(build, x, {"size": numbers(48, 1), "kind": np.arange(48) % 3})


def check_optimizers_clipping_and_schedules() -> None:
    exact()
    schedule = keras.optimizers.schedules.ExponentialDecay(0.05, 2, 0.7)
    for make in (
        lambda: keras.optimizers.AdamW(schedule, weight_decay=0.1, global_clipnorm=0.3),
        lambda: keras.optimizers.SGD(schedule, momentum=0.9, nesterov=True, clipnorm=0.2, use_ema=True),
        lambda: keras.optimizers.Lion(0.01, clipvalue=0.1),
    ):
        same(lambda make=make: dense(optimizer=make()), numbers(72, 6), numbers(72, 3))  # type: ignore[misc]


def check_a_weight_without_a_gradient_stays_without() -> None:
    exact()

    class Unused(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.used, self.spare = layers.Dense(3), layers.Dense(3)

        def build(self, shape: Any) -> None:
            self.used.build(shape)
            self.spare.build(shape)

        def call(self, x: Any) -> Any:
            return self.used(x)

    def build() -> Any:
        model = Unused()
        model.compile(keras.optimizers.AdamW(0.01, weight_decay=0.5), "mse")
        return model

    x, y = numbers(48, 6), numbers(48, 3)
    with pytest.warns(UserWarning, match="Gradients do not exist"):
        plain = trained(build, None, x, y, batch_size=24)
    with pytest.warns(UserWarning, match="Gradients do not exist"):
        other = trained(build, four, x, y, batch_size=24)
    assert_same(plain, other)


def check_eager_and_xla() -> None:
    exact()
    same(lambda: dense(run_eagerly=True), numbers(48, 6), numbers(48, 3), epochs=1)
    same(lambda: dense(jit_compile=True), numbers(48, 6), numbers(48, 3), epochs=1)


def check_single_precision_and_mixed() -> None:
    same(lambda: dense(optimizer="sgd"), numbers(72, 6), numbers(72, 3), tolerance=3e-6)
    keras.config.set_dtype_policy("mixed_float16")
    same(lambda: dense(optimizer="sgd", activity=None), numbers(72, 6), numbers(72, 3), tolerance=3e-3)


def check_steps_per_execution_validation_and_undoing() -> None:
    exact()
    x, y = numbers(96, 6), numbers(96, 3)
    same(lambda: dense(steps_per_execution=2), x, y, validation_split=0.25)
    model = cc.remedy.accumulate(four(dense()), 1)
    assert model.train_step.__func__ is keras.Model.train_step


def check_what_makes_no_sense_is_refused() -> None:
    class Own(keras.Sequential):  # type: ignore[misc]
        def train_step(self, data: Any) -> Any:
            return super().train_step(data)

    with pytest.raises(UsageError, match="train_step of its own"):
        four(Own([layers.Dense(1)]))

    class Summed(keras.Sequential):  # type: ignore[misc]
        def compute_loss(self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None) -> Any:
            return keras.ops.sum(keras.ops.square(y - y_pred))

    with pytest.raises(UsageError, match="compute_loss of its own"):
        four(Summed([layers.Dense(1)]))
    for method in ("train_step", "compute_loss"):
        placed = dense()
        setattr(placed, method, getattr(Summed([layers.Dense(1)]), method))
        with pytest.raises(UsageError, match=f"{method} of its own"):
            four(placed)
    with pytest.raises(UsageError, match="received steps=0"):
        cc.remedy.accumulate(dense(), 0)
    with pytest.raises(UsageError, match="accumulates gradients itself"):
        four(dense(optimizer=keras.optimizers.SGD(gradient_accumulation_steps=2)))
    with pytest.raises(UsageError, match=r"expected a keras\.Model"):
        four(layers.Dense(1))


def check_the_peak_falls() -> None:
    def build() -> Any:
        stack = [layers.Dense(128, activation="gelu") for _ in range(8)]
        model = keras.Sequential([keras.Input((64, 128)), *stack, layers.GlobalAveragePooling1D(), layers.Dense(1)])
        model.compile("adam", "mse")
        return model

    x, y = np.zeros((128, 64, 128), "float32"), np.zeros((128, 1), "float32")
    plain, halves, quarters = (peak_bytes(cc.remedy.accumulate(build(), steps), x, y) for steps in (1, 2, 4))
    print(f"accumulate: plain {plain / 2**20:.1f} MiB, 2 passes {halves / 2**20:.1f}, 4 passes {quarters / 2**20:.1f}")
    assert halves < 0.65 * plain
    assert quarters < 0.4 * plain
