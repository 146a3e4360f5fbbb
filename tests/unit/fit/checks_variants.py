"""Variants: what is offered, that the model stays as it is, and what the changed steps take."""

from __future__ import annotations

import gzip
import importlib.util
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from crashcart import remedy
from crashcart.cli.fit_step import Estimator
from crashcart.fit.estimate import estimate
from crashcart.probe.tensorflow_sizes import pruned, tflite
from crashcart.probe.tensorflow_specs import batch_specs
from crashcart.probe.tensorflow_trace import Trace
from crashcart.probe.tensorflow_variants import Variant, variants
from tests.unit.remedy.measure import peak_bytes

BATCH = 32
REQUEST = {"batch": BATCH, "phase": "train", "shapes": None, "target": "device", "available_bytes": None}


def images(depth: int = 6, side: int = 32) -> Any:
    """Layers on single pixels: convolutions of three would be a matter of their scratch at this size."""
    model = keras.Sequential([keras.Input((side, side, 3))])
    for _ in range(depth):
        model.add(layers.Conv2D(32, 1, activation="gelu"))
    model.add(layers.GlobalAveragePooling2D())
    model.add(layers.Dense(64))
    model.add(layers.Dense(8))
    model.compile("adam", "mse")
    return model


class Own(keras.Model):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.block = keras.Sequential([layers.Dense(32, "relu"), layers.Dense(8)])
        self.head = layers.Dense(2)

    def call(self, x: Any, training: bool = False) -> Any:
        return self.head(self.block(x))


def found(model: Any, phase: str, given: Any = None, batch: int = BATCH) -> tuple[dict[str, Variant], dict[str, str]]:
    made = variants(model, given, phase, None, batch, remedy)
    return {each.name: each for each in made}, dict(made.left_out)


def said(trace: Any, batch: int, phase: str = "train") -> int:
    return estimate(trace.at(batch), phase, batch, 2).peak_bytes


def check_what_is_offered_for_training() -> None:
    offered, left_out = found(images(), "train")
    assert list(offered) == [
        "mixed_float16",
        "mixed_bfloat16",
        "accumulation in 2 passes",
        "accumulation in 4 passes",
        "remat",
        "SGD",
        "Lion",
        "Adafactor",
        "smaller input",
    ]
    assert offered["accumulation in 4 passes"].pass_batch == 8
    assert not left_out
    for each in offered.values():
        assert each.how
        assert each.note


def check_each_change_takes_less_and_the_model_stays_as_it_is() -> None:
    model = images()
    plain = said(Trace(model, batch_specs(model, None, "train"), "train"), BATCH)
    before = [each.numpy().copy() for each in model.weights]
    known = {name: id(value) for name, value in vars(model).items()}
    offered, _ = found(model, "train")
    for name, each in offered.items():
        took = said(each.trace(), each.batch or BATCH)
        # This model's slots are small: another optimizer saves next to nothing here.
        most = 1.03 if name in ("SGD", "Lion", "Adafactor") else 0.8
        assert took < most * plain, f"{name}: {took} of {plain}"
    assert known == {name: id(value) for name, value in vars(model).items()}
    assert "train_step" not in vars(model)
    for one, two in zip(before, model.weights, strict=True):
        np.testing.assert_array_equal(one, two.numpy())
    assert keras.config.dtype_policy().name == "float32"


def check_a_subclassed_model_is_left_out_where_it_has_to_be() -> None:
    model = Own()
    model.compile("adam", "mse")
    specs = tf.TensorSpec((None, 4), tf.float32), tf.TensorSpec((None, 2), tf.float32)
    Trace(model, batch_specs(model, specs, "train"), "train")
    offered, left_out = found(model, "train", specs)
    assert "accumulation in 2 passes" in offered
    assert "remat" in offered
    assert "subclassed" in left_out["mixed_float16"]
    assert "smaller input" in left_out
    for each in offered.values():
        assert said(each.trace(), each.batch or BATCH) > 0


def check_a_train_step_of_ones_own_cannot_be_cut() -> None:
    class Stepping(Own):
        def train_step(self, data: Any) -> Any:
            return super().train_step(data)

    model = Stepping()
    model.compile("adam", "mse")
    specs = tf.TensorSpec((None, 4), tf.float32), tf.TensorSpec((None, 2), tf.float32)
    Trace(model, batch_specs(model, specs, "train"), "train")
    _, left_out = found(model, "train", specs)
    assert "train_step of its own" in left_out["accumulation in 2 passes"]


def check_without_remedies_their_variants_are_left_out() -> None:
    made = variants(images(), None, "train", None, BATCH)
    names = [each.name for each in made]
    assert "remat" not in names
    assert dict(made.left_out)["remat"] == "no remedies were handed in"


def check_optimizers_with_as_many_slots_are_not_offered() -> None:
    model = images()
    model.compile(keras.optimizers.SGD(), "mse")
    _, left_out = found(model, "train")
    assert {"SGD", "Lion", "Adafactor"} <= set(left_out)


def check_an_input_that_cannot_be_halved() -> None:
    _, left_out = found(images(side=16), "train")
    assert left_out["smaller input"] == "no input is an image"


def check_prediction_and_evaluation_in_halves() -> None:
    model = images()
    for phase in ("predict",):
        offered, _ = found(model, phase)
        half = next(iter(offered.values()))
        assert half.batch == BATCH // 2
        assert said(half.trace(), half.batch, phase) < said(half.trace(), BATCH, phase)


def check_sizes_are_those_of_the_converter() -> None:
    """The rules against real conversions of small models; the file's own frame takes some kilobytes."""
    if importlib.util.find_spec("tensorflow.lite.python.lite") is None:
        return
    dense = keras.Sequential([keras.Input((64,)), layers.Dense(512, "relu"), layers.Dense(300), layers.Dense(2)])
    convolution = keras.Sequential(
        [keras.Input((16, 16, 8)), layers.Conv2D(64, 3), layers.Conv2D(64, 3), layers.Flatten(), layers.Dense(9)]
    )
    for model in (dense, convolution):
        for kind in ("float16", "int8"):
            converter = tf.lite.TFLiteConverter.from_keras_model(model)
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
            if kind == "float16":
                converter.target_spec.supported_types = [tf.float16]
            true = len(converter.convert())
            rule = tflite(model.weights, kind).bytes
            print(f"tflite {kind}: rule {rule}, converter {true}")
            assert rule < true < rule * 1.05 + 12_000


def check_sizes_of_pruned_models_are_those_of_gzip() -> None:
    model = keras.Sequential([keras.Input((200,)), layers.Dense(400), layers.Dense(100), layers.Dense(3)])
    stored = b""
    for each in model.weights:
        value = each.numpy()
        if value.ndim > 1 and value.size >= 1024:
            value[np.abs(value) < np.median(np.abs(value))] = 0
        stored += value.tobytes()
    true, rule = len(gzip.compress(stored)), pruned(model.weights).bytes
    print(f"pruned: rule {rule}, gzip {true}, plain {len(stored)}")
    assert abs(rule / true - 1) < 0.1


def check_sizes_are_figures_beside_the_peak() -> None:
    offered, _ = found(images(), "predict")
    half, eighth, empty = (offered[each] for each in ("TFLite float16", "TFLite int8", "pruning to 50 %"))
    assert half.size_bytes and eighth.size_bytes and empty.size_bytes and half.size_before_bytes
    assert eighth.size_bytes < half.size_bytes == half.size_before_bytes // 2
    assert said(eighth.trace(), BATCH, "predict") < said(half.trace(), BATCH, "predict")
    assert said(half.trace(), BATCH, "predict") < said(empty.trace(), BATCH, "predict")


def check_estimates_are_near_the_truth() -> None:
    """Accumulation and remat of a chain of layers, against the allocator's own peak."""
    x, y = np.zeros((BATCH, 32, 32, 3), "float32"), np.zeros((BATCH, 8), "float32")
    offered, _ = found(images(), "train")
    for name, change in (
        ("accumulation in 4 passes", lambda model: remedy.accumulate(model, 4)),
        ("remat", remedy.remat),
    ):
        true = peak_bytes(change(images()), x, y)
        each = offered[name]
        took = said(each.trace(), each.batch or BATCH)
        print(f"{name}: estimated {took / 2**20:.1f} MiB, true {true / 2**20:.1f} MiB, {took / true - 1:+.1%}")
        assert abs(took / true - 1) < 0.25


def check_a_model_in_passes_is_estimated_as_one() -> None:
    """By `crashcart fit`, whose step it is; and a further change is estimated within the passes."""
    plain, quarters = (
        Estimator(each, None, REQUEST, str).at(BATCH) for each in (images(), remedy.accumulate(images(), 4))
    )
    offered, _ = found(images(), "train")
    assert quarters.peak_bytes == said(offered["accumulation in 4 passes"].trace(), BATCH) < 0.5 * plain.peak_bytes
    assert quarters.batch == BATCH
    further, left_out = found(remedy.accumulate(images(), 2), "train")
    assert left_out["accumulation in 2 passes"] == "the model has 2 passes already"
    assert said(further["accumulation in 4 passes"].trace(), BATCH) == quarters.peak_bytes
    for name in ("remat", "mixed_float16", "SGD"):
        assert said(further[name].trace(), BATCH) < said(offered[name].trace(), BATCH)
    assert Estimator(remedy.accumulate(images(), 4), None, REQUEST | {"phase": "evaluate"}, str).at(BATCH).peak_bytes
