"""What `cc.fit` makes while it traces a live model: it takes no memory, and is gone afterwards."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

import crashcart as cc
from crashcart.errors import CannotCheckError, UsageError

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed"),
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # of TensorFlow, with NumPy 2
]


def made_for(subject: Any, given: Any = None) -> list[Any]:
    """The variables of a live model once the shapes of its batch were asked for, as TensorFlow's own."""
    from crashcart.probe.tensorflow_live import load_live
    from crashcart.probe.tensorflow_specs import described

    with load_live(subject, given) as (model, own):
        described(model, own, "train", [(64,)])
        return [each.value for each in model.variables if each.shape and each.shape[0] == 64]


def unbuilt() -> Any:
    import keras

    model = keras.Sequential([keras.layers.Dense(256), keras.layers.Dense(3)])
    model.compile("adam", "mse", metrics=[keras.metrics.AUC(num_thresholds=2000)])
    return model


def test_an_unbuilt_model_and_a_builder_are_traced_without_weights() -> None:
    from crashcart.probe.tensorflow_weights import is_unallocated

    for subject in (unbuilt, unbuilt()):
        (kernel,) = made_for(subject)
        assert is_unallocated(kernel)


def test_a_builder_that_looks_at_its_weights_has_them() -> None:
    from crashcart.probe.tensorflow_weights import is_unallocated

    def looks() -> Any:
        model = unbuilt()
        model.build((None, 64))
        assert model.layers[0].kernel.numpy().any()
        return model

    (kernel,) = made_for(looks)
    assert not is_unallocated(kernel)


def stepping() -> Any:
    """A model with optimizers in a list and under a name outside of it, an inner model with its own, and a variable that its
    first step makes."""
    import keras
    import tensorflow as tf

    outside = keras.optimizers.Adam()

    class Stepping(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.inner = keras.Sequential([keras.Input((64,)), keras.layers.Dense(64)])
            self.inner.compile("adam", "mse")
            self.opts = [keras.optimizers.Adam(), outside]
            self.sums: Any = None

        def call(self, x: Any) -> Any:
            return self.inner(x)

        def train_step(self, data: Any) -> Any:
            if self.sums is None:
                with tf.init_scope():
                    self.sums = tf.Variable(tf.zeros((64, 64)))
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
            slopes = tape.gradient(loss, self.trainable_variables)
            self.sums.assign_add(slopes[0])
            for each in (self.opts[0], outside, self.inner.optimizer):
                each.apply(slopes, self.trainable_variables)
            return {"loss": loss}

    model = Stepping()
    model.compile()
    model.build((None, 64))
    return model


def test_what_a_step_makes_lazily_is_gone_and_the_model_trains() -> None:
    import numpy as np

    model = stepping()
    data = np.ones((4, 64), "float32"), np.zeros((4, 64), "float32")
    found = cc.fit(model, 8, data=data, memory="1G", target="device", remedies=True)
    assert found.fits
    optimizers = (*model.opts, model.inner.optimizer)
    assert [each.built for each in optimizers] == [False] * 3
    assert model.sums is None
    assert np.isfinite(model.fit(*data, verbose=0, epochs=2).history["loss"][-1])
    assert model.sums.numpy().any()
    assert all(each.variables[2].numpy().any() for each in optimizers)


def test_metrics_of_an_unbuilt_model_stay_its_own() -> None:
    import keras
    import numpy as np

    model, metric = keras.Sequential([keras.layers.Dense(2000)]), keras.metrics.F1Score("macro")
    model.compile("sgd", "mse", metrics=[metric])
    data = np.ones((4, 64), "float32"), np.zeros((4, 2000), "float32")
    cc.fit(model, 8, data=data, memory="1G", target="device", remedies=False)
    assert not model.built and not metric.variables
    assert np.isfinite(model.fit(*data, verbose=0).history["f1_score"][-1])


def test_what_a_trained_model_holds_is_counted_once_and_whole() -> None:
    import keras
    import numpy as np

    from crashcart.cli.fit_live import _held_bytes
    from crashcart.probe.tensorflow_sizes import variable_bytes

    model = unbuilt()
    assert _held_bytes(model) < 20_000  # counters of the AUC alone
    model.fit(np.ones((4, 64), "float32"), np.zeros((4, 3), "float32"), verbose=0)
    weights = (64 * 256 + 256 + 256 * 3 + 3) * 4
    assert _held_bytes(model) == pytest.approx(3 * weights + 4 * 2000 * 4, rel=0.01)
    assert _held_bytes((model, None)) == _held_bytes(model)
    assert _held_bytes(unbuilt) == 0
    assert variable_bytes(keras.Variable(np.zeros((10,)), dtype="float8_e4m3fn")) == 10


@pytest.mark.parametrize("where", ["iteration", "trace"])
def test_an_estimate_stands_where_a_remedy_raises(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    from crashcart.probe import tensorflow_variants
    from crashcart.probe.tensorflow_weights import WeightsReadError

    def raises(*_: Any) -> Any:
        raise WeightsReadError("the value of a weight")

    name = "_optimizers" if where == "iteration" else "_optimized"
    monkeypatch.setattr(tensorflow_variants._Maker, name, raises)
    model = unbuilt()
    model.build((None, 64))
    found = cc.fit(model, 4096, memory="8M", target="device", remedies=True)
    assert found.peak_bytes and found.remedies
    told = [each for each in found.step.assumed if "not all remedies were estimated: WeightsReadError" in each]
    assert bool(told) == (where == "iteration")


def test_a_generator_keeps_its_batches() -> None:
    import numpy as np

    batches = ((np.ones((each, 64)), np.zeros((each, 3))) for each in (4, 5))
    for subject, data in ((unbuilt, batches), ((unbuilt(), batches), None)):
        with pytest.raises(UsageError, match="a generator") as caught:
            cc.fit(subject, 8, data=data, memory="1G", target="device", remedies=False)
        assert "Give one batch of it" in caught.value.help
    first = next(batches)
    assert len(first[0]) == 4
    assert cc.fit(unbuilt, 8, data=first, memory="1G", target="device", remedies=False).fits


def test_a_builder_may_not_train_and_afterwards_one_may() -> None:
    import keras
    import numpy as np

    data = np.ones((4, 64), "float32"), np.zeros((4, 3), "float32")

    def trains() -> Any:
        model = unbuilt()
        model.fit(*data, verbose=0)
        return model

    before = dict(vars(keras.Model))
    with pytest.raises(CannotCheckError, match=r"trains\(\) calls model.fit\(\)"):
        cc.fit(trains, 8, memory="1G", target="device")
    assert dict(vars(keras.Model)) == before
    assert trains().built
