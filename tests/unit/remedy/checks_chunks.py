"""Predictions, evaluation and products in chunks: the same values, in less memory."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

import crashcart as cc
from crashcart.errors import UsageError
from tests.unit.remedy.measure import numbers


def convolution() -> Any:
    stack = [layers.Conv2D(8, 3, padding="same", activation="relu") for _ in range(2)]
    model = keras.Sequential([keras.Input((16, 16, 3)), *stack, layers.Flatten(), layers.Dense(5)])
    model.compile("sgd", "mse", metrics=["mae"])
    return model


def images(count: int) -> Any:
    return numbers(count, 16, 16, 3).astype("float32")


def check_predictions_are_those_of_predict() -> None:
    model, x = convolution(), images(37)
    wanted = model.predict(x, batch_size=37, verbose=0)
    for options in ({"batch": 8}, {"batch": 100}, {"budget": "300K"}):
        np.testing.assert_allclose(cc.remedy.chunked_predict(model, x, **options), wanted, rtol=1e-5, atol=1e-5)


def check_predictions_go_where_they_are_wanted() -> None:
    model, x = convolution(), images(37)
    wanted = model.predict(x, verbose=0)
    place = np.zeros((37, 5), "float32")
    assert cc.remedy.chunked_predict(model, x, batch=8, out=place) is place
    np.testing.assert_allclose(place, wanted, rtol=1e-5, atol=1e-5)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predicted.npy"
        made = cc.remedy.chunked_predict(model, x, batch=8, out=path)
        assert isinstance(made, np.memmap)
        np.testing.assert_allclose(np.load(path), wanted, rtol=1e-5, atol=1e-5)
        source = np.memmap(Path(folder) / "x", "float32", "w+", shape=x.shape)
        source[:] = x
        np.testing.assert_allclose(cc.remedy.chunked_predict(model, source, batch=8), wanted, rtol=1e-5, atol=1e-5)
    with pytest.raises(UsageError, match="expected \\(37, 5\\)"):
        cc.remedy.chunked_predict(model, x, batch=8, out=np.zeros((36, 5)))


def check_several_inputs_and_outputs() -> None:
    left, right = keras.Input((4,), name="left"), keras.Input((3,), name="right")
    model = keras.Model({"left": left, "right": right}, {"sum": layers.Dense(2)(left), "one": layers.Dense(1)(right)})
    x = {"left": numbers(20, 4), "right": numbers(20, 3)}
    wanted, found = model.predict(x, verbose=0), cc.remedy.chunked_predict(model, x, batch=7)
    assert wanted.keys() == found.keys()
    for name in wanted:
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-5, atol=1e-6)


def check_evaluation_is_that_of_evaluate() -> None:
    model, x, y = convolution(), images(37), numbers(37, 5)
    weights = np.linspace(0, 2, 37)
    for sample_weight in (None, weights):
        wanted = model.evaluate(x, y, batch_size=37, sample_weight=sample_weight, return_dict=True, verbose=0)
        found = cc.remedy.chunked_evaluate(model, x, y, batch=8, sample_weight=sample_weight)
        assert wanted.keys() == found.keys()
        for name in wanted:
            np.testing.assert_allclose(found[name], wanted[name], rtol=1e-5, err_msg=name)


def check_the_peak_of_predictions_falls() -> None:
    model, x = convolution(), images(512)

    def peak(run: Any) -> int:
        run()
        tf.config.experimental.reset_memory_stats("CPU:0")
        run()
        return int(tf.config.experimental.get_memory_info("CPU:0")["peak"])

    whole = peak(lambda: model.predict(x, batch_size=512, verbose=0))
    chunks = peak(lambda: cc.remedy.chunked_predict(model, x, budget="2M"))
    print(f"predict: whole {whole / 2**20:.1f} MiB, budget 2M {chunks / 2**20:.1f} MiB")
    assert chunks < 4 * 2**20 < whole


def check_a_chunk_that_is_refused_is_halved() -> None:
    class Picky(keras.Model):  # type: ignore[misc]
        def predict_on_batch(self, x: Any) -> Any:
            if len(x) > 5:
                raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor")
            return super().predict_on_batch(x)

    inputs = keras.Input((4,))
    model = Picky(inputs, layers.Dense(2)(inputs))
    x = numbers(23, 4)
    np.testing.assert_allclose(cc.remedy.chunked_predict(model, x, batch=16), model.predict(x, verbose=0), rtol=1e-5)


def check_what_makes_no_sense_is_refused() -> None:
    model = convolution()
    for options, words in (
        ({}, "one of the two"),
        ({"batch": 2, "budget": "1G"}, "one of the two"),
        ({"batch": 0}, "at least 1"),
        ({"batch": "3"}, "received batch='3'"),
        ({"batch": 2.5}, "received batch=2.5"),
        ({"batch": 2, "out": np.zeros((4, 5), "int64")}, "out= holds int64"),
        ({"budget": "1K"}, "one example takes about"),
    ):
        with pytest.raises(UsageError, match=words):
            cc.remedy.chunked_predict(model, images(4), **options)
    with pytest.raises(UsageError, match="expected arrays"):
        cc.remedy.chunked_predict(model, tf.data.Dataset.from_tensors(1), batch=2)
    for odd in (np.float32(1), [1, 2], tf.sparse.from_dense(np.eye(3))):
        with pytest.raises(UsageError, match="expected arrays"):
            cc.remedy.chunked_predict(model, odd, batch=2)


def check_integers_of_numpy_and_places_of_another_precision_will_do() -> None:
    model, x = convolution(), images(5)
    place = np.zeros((5, 5), "float64")
    cc.remedy.chunked_predict(model, x, batch=np.int64(2), out=place)
    np.testing.assert_allclose(place, model.predict(x, verbose=0), rtol=1e-5, atol=1e-5)


def check_labels_and_weights_of_another_length_are_refused() -> None:
    model, x = convolution(), images(6)
    for y, weight, words in (
        (numbers(8, 5), None, "y has 8 examples, x has 6"),
        (numbers(5, 5), None, "y has 5 examples, x has 6"),
        (numbers(6, 5), np.ones(7), "sample_weight has 7 examples, x has 6"),
    ):
        with pytest.raises(UsageError, match=words):
            cc.remedy.chunked_evaluate(model, x, y, batch=4, sample_weight=weight)


def product_of(a: Any, b: Any, budget: int = 8192, **options: Any) -> None:
    found = cc.remedy.chunked_matmul(a, b, budget, **options)
    wanted = tf.matmul(a, b, **options).numpy()
    assert found.dtype == wanted.dtype
    # Half precision rounds a sum of n terms to 3 digits at best, of the largest; the others to nearly all of theirs.
    loose = {"float16": 2e-3, "bfloat16": 2e-2}.get(str(wanted.dtype), 1e-6)
    kind = "complex128" if "complex" in str(wanted.dtype) else "float64"
    np.testing.assert_allclose(
        found.astype(kind), wanted.astype(kind), rtol=loose, atol=loose * np.abs(wanted.astype(kind)).max()
    )


def check_products_of_any_type_are_those_of_matmul() -> None:
    for kind in ("float32", "float64", "float16", "int32", "int64", "complex64", "bfloat16"):
        a, b = (tf.cast(3 * numbers(*shape), kind) for shape in ((70, 90), (90, 50)))
        product_of(a, b)


def check_products_with_transposes_and_leading_dimensions() -> None:
    for left, right in (
        ((40, 30), (30, 50)),
        ((5, 40, 30), (5, 30, 50)),
        ((2, 1, 40, 30), (3, 30, 50)),
        ((40, 30), (4, 30, 50)),
    ):
        for flip_left in (False, True):
            for flip_right in (False, True):
                a = numbers(*left[:-2], *(left[:-3:-1] if flip_left else left[-2:]))
                b = numbers(*right[:-2], *(right[:-3:-1] if flip_right else right[-2:]))
                product_of(a, b, transpose_a=flip_left, transpose_b=flip_right)


def check_long_sums_are_cut_too() -> None:
    product_of(numbers(3, 9000).astype("float32"), numbers(9000, 2).astype("float32"))
    product_of(numbers(4, 3000).astype("float16") / 9, numbers(3000, 4).astype("float16") / 9)


def check_products_go_where_they_are_wanted() -> None:
    a, b = numbers(70, 90), numbers(90, 50)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "product.npy"
        made = cc.remedy.chunked_matmul(a, b, "8K", out=path)
        assert isinstance(made, np.memmap)
        np.testing.assert_allclose(np.load(path), a @ b)
        sources = [
            np.lib.format.open_memmap(Path(folder) / f"{number}.npy", "w+", each.dtype, each.shape)
            for number, each in enumerate((a, b))
        ]
        for source, each in zip(sources, (a, b), strict=True):
            source[:] = each
        np.testing.assert_allclose(cc.remedy.chunked_matmul(*sources, "8K"), a @ b)
    place = np.zeros((70, 50))
    assert cc.remedy.chunked_matmul(a, b, "8K", out=place) is place
    np.testing.assert_allclose(place, a @ b)


def check_gradients_of_products() -> None:
    for left, right, flips in (
        ((20, 30), (30, 10), (False, False)),
        ((30, 20), (10, 30), (True, True)),
        ((3, 20, 30), (10, 30), (False, True)),
        ((2, 1, 30, 20), (3, 30, 10), (True, False)),
    ):
        a, b = tf.constant(numbers(*left)), tf.constant(numbers(*right))

        def gradients(multiply: Any, a: Any = a, b: Any = b) -> Any:
            with tf.GradientTape() as tape:
                tape.watch([a, b])
                result = tf.reduce_sum(tf.square(multiply(a, b)))
            return [result, *tape.gradient(result, [a, b])]

        def plain(a: Any, b: Any, flips: Any = flips) -> Any:
            return tf.matmul(a, b, transpose_a=flips[0], transpose_b=flips[1])

        def blocks(a: Any, b: Any, flips: Any = flips) -> Any:
            return cc.remedy.chunked_matmul(a, b, "4K", transpose_a=flips[0], transpose_b=flips[1], gradient=True)

        wanted = gradients(plain)
        for found in (gradients(blocks), tf.function(gradients)(blocks)):
            for one, two in zip(wanted, found, strict=True):
                np.testing.assert_allclose(two, one, rtol=1e-9, atol=1e-9)


def check_the_peak_of_a_product_stays_in_the_budget() -> None:
    """The article's example: a large matrix times its own transpose."""
    a = np.random.default_rng(1).random((3000, 3000), "float32")

    def peak(run: Any) -> tuple[int, Any]:
        tf.config.experimental.reset_memory_stats("CPU:0")
        before = tf.config.experimental.get_memory_info("CPU:0")["current"]
        value = run()
        return tf.config.experimental.get_memory_info("CPU:0")["peak"] - before, value

    whole, wanted = peak(lambda: tf.matmul(tf.constant(a), tf.transpose(tf.constant(a))).numpy())
    blocks, found = peak(lambda: cc.remedy.chunked_matmul(a, a, "8M", transpose_b=True))
    print(f"matmul: whole {whole / 2**20:.1f} MiB, budget 8M {blocks / 2**20:.1f} MiB")
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    assert blocks <= 8 * 2**20 < whole


def check_what_does_not_multiply_is_said() -> None:
    """The article's other example fails for its shapes, on any machine."""
    a = np.zeros((10, 20, 3), "float32")
    with pytest.raises(UsageError, match="3 columns do not meet 20 rows"):
        cc.remedy.chunked_matmul(a, a)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.matmul(a, a)
    with pytest.raises(UsageError, match="expected one type"):
        cc.remedy.chunked_matmul(np.zeros((2, 2), "float32"), np.zeros((2, 2), "float64"))
    with pytest.raises(UsageError, match="expected matrices"):
        cc.remedy.chunked_matmul(np.zeros(3), np.zeros(3))
    with pytest.raises(UsageError, match="do not go together"):
        cc.remedy.chunked_matmul(np.zeros((2, 2, 2)), np.zeros((3, 2, 2)))
    with pytest.raises(UsageError, match="expected at least"):
        cc.remedy.chunked_matmul(np.zeros((2, 2)), np.zeros((2, 2)), 100)


def check_results_are_not_written_over_what_is_read() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.npy"
        np.save(path, numbers(64, 64))
        a = np.load(path, mmap_mode="r")
        linked = Path(folder) / "b.npy"
        linked.symlink_to(path)
        whole = np.concatenate([np.array(a)] * 2)
        model = keras.Sequential([keras.Input((64,)), layers.Dense(64)])
        for given, out in (
            (a, path),
            (a[1:], str(linked)),
            (a, np.load(path, mmap_mode="r+")),
            (whole[:64], whole[8:72]),
        ):
            with pytest.raises(UsageError, match="destroy"):
                cc.remedy.chunked_matmul(given, np.array(a), "8K", out=out)
            with pytest.raises(UsageError, match="destroy"):
                cc.remedy.chunked_predict(model, given, batch=8, out=out)
        np.testing.assert_array_equal(np.load(path), numbers(64, 64))
        other = cc.remedy.chunked_matmul(whole[:64], np.array(a), "8K", out=whole[64:])
        np.testing.assert_allclose(other, np.array(a) @ np.array(a))
