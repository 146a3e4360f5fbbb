"""Models of many kinds, as users write them."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers


def _heads(outputs):
    inputs = {"image": keras.Input((8, 8, 3), name="image"), "table": keras.Input((5,), name="table")}
    x = layers.Concatenate()([layers.Flatten()(inputs["image"]), inputs["table"]])
    price, kind = layers.Dense(1, name="price")(x), layers.Dense(6, activation="softmax", name="kind")(x)
    return inputs, outputs(price, kind)


def dicts():
    """Inputs, outputs, losses and metrics by name."""
    model = keras.Model(*_heads(lambda price, kind: {"price": price, "kind": kind}))
    losses = {"price": "mse", "kind": "sparse_categorical_crossentropy"}
    model.compile("adam", losses, metrics={"kind": ["accuracy"]})
    return model


def lists():
    """Several inputs and outputs as lists, losses by the names of the outputs."""
    inputs, outputs = _heads(lambda price, kind: [price, kind])
    model = keras.Model(list(inputs.values()), outputs)
    model.compile(
        "rmsprop", {"kind": "sparse_categorical_crossentropy", "price": "mae"}, loss_weights={"kind": 1.0, "price": 0.1}
    )
    return model


def weighted():
    """A dataset with sample weights."""
    model = keras.Sequential([keras.Input((12,)), layers.Dense(40), layers.Dense(2)])
    model.compile("sgd", "mse", weighted_metrics=["mae"])
    parts = tf.zeros((30, 12)), tf.zeros((30, 2)), tf.zeros((30,))
    return model, tf.data.Dataset.from_tensor_slices(parts).batch(10)


class Net(keras.Model):
    """Subclassed, compiled, not built."""

    def __init__(self):
        super().__init__()
        self.hidden = layers.Dense(64, activation="relu")
        self.drop = layers.Dropout(0.5)
        self.out = layers.Dense(10)
        self.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))

    def call(self, images, training=False):
        return self.out(self.drop(self.hidden(images), training=training))


class OwnStep(keras.Model):
    """Its own train step, with an extra loss, on x alone."""

    def __init__(self):
        super().__init__()
        self.code = layers.Dense(24)
        self.decode = layers.Dense(96)
        self.seen = keras.metrics.Mean(name="seen")

    def call(self, x):
        return self.decode(self.code(x))

    def train_step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self(x, training=True) - x))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        self.seen.update_state(loss)
        return {"loss": loss, "seen": self.seen.result()}


def own_step():
    model = OwnStep()
    model.compile("adam")
    return model, tf.TensorSpec((None, 96))


class Gan(keras.Model):
    """Two models, a step of its own, no call."""

    def __init__(self):
        super().__init__()
        self.judge = keras.Sequential([keras.Input((12,)), layers.Dense(16), layers.Dense(1)])
        self.make = keras.Sequential([keras.Input((4,)), layers.Dense(16), layers.Dense(12)])

    def compile(self, first, second):
        super().compile()
        self.first, self.second = first, second

    def train_step(self, real):
        count = tf.shape(real)[0]
        false = self.make(tf.random.normal((count, 4)))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.judge(tf.concat([real, false], 0)))
        self.first.apply(tape.gradient(loss, self.judge.trainable_weights), self.judge.trainable_weights)
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(self.judge(self.make(tf.random.normal((count, 4)))))
        self.second.apply(tape.gradient(loss, self.make.trainable_weights), self.make.trainable_weights)
        return {"loss": loss}


def gan():
    model = Gan()
    model.compile(keras.optimizers.Adam(), keras.optimizers.Adam())
    return model


def eager():
    model = keras.Sequential([keras.Input((12,)), layers.Dense(40), layers.Dense(2)])
    model.compile("sgd", "mse", run_eagerly=True)
    return model


def words():
    """Not built; an Embedding takes whole numbers."""
    model = keras.Sequential([layers.Embedding(50, 48), layers.GlobalAveragePooling1D(), layers.Dense(1)])
    model.compile("adam", "binary_crossentropy")
    return model


def open_length():
    model = keras.Sequential(
        [keras.Input((None,), dtype="int32"), layers.Embedding(50, 32), layers.GRU(16), layers.Dense(1)]
    )
    model.compile("adam", "mse")
    return model


def open_image():
    inputs = keras.Input((None, None, 3))
    model = keras.Model(inputs, layers.Conv2D(4, 3, strides=8, padding="same")(inputs))
    model.compile("sgd", "mse")
    return model


def half():
    """Mixed precision, with a scaled loss."""
    kind = {"dtype": "mixed_float16"}
    inputs = keras.Input((40,))
    x = layers.Dense(64, activation="relu", **kind)(inputs)
    model = keras.Model(inputs, layers.Dense(3, dtype="float32")(x))
    model.compile(keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(1e-3)), "mse")
    return model


def _dense(optimizer):
    model = keras.Sequential([keras.Input((40,)), layers.Dense(64), layers.BatchNormalization(), layers.Dense(3)])
    model.compile(optimizer, "mse")
    return model


def accumulating():
    return _dense(keras.optimizers.Adam(1e-3, gradient_accumulation_steps=4))


def averaged():
    return _dense(keras.optimizers.AdamW(1e-3, weight_decay=1e-2, use_ema=True, clipnorm=1.0))


class Nested(layers.Layer):
    """A function of TensorFlow inside the call, and a variable of TensorFlow's own."""

    def build(self, shape):
        self.scale = tf.Variable(tf.ones((shape[-1], 64)), name="scale")
        self.built = True

    @tf.function
    def call(self, x):
        return tf.nn.relu(tf.matmul(x, self.scale))


def nested():
    inputs = keras.Input((16, 16, 3))
    x = layers.Rescaling(1 / 255)(inputs)
    x = layers.RandomFlip()(x)
    x = layers.Normalization(mean=[0.5] * 3, variance=[1.0] * 3)(x)
    x = layers.Lambda(lambda value: value * 2.0)(layers.Flatten()(x))
    x = Nested()(x)
    model = keras.Model(inputs, layers.Dense(2, kernel_regularizer="l2")(x))
    model.compile("adam", "mse", metrics=["mae"])
    return model


def called():
    """Built by a call on data, as many are."""
    model = Net()
    assert model(np.zeros((2, 200), "float32")).shape == (2, 10)
    return model, tf.TensorSpec((None, 200))


def assigned():
    """Weights are set, as pretrained ones are."""
    model = keras.Sequential([keras.Input((100,)), layers.Dense(60)])
    model.set_weights([np.ones((100, 60), "float32"), np.ones((60,), "float32")])
    model.compile("sgd", "mse")
    return model


def looked_at():
    """Its code depends on the values of weights."""
    model = keras.Sequential([keras.Input((100,)), layers.Dense(60)])
    if float(np.abs(model.layers[0].get_weights()[0]).sum()) == 0.0:
        raise AssertionError("weights were drawn, and are not zero")
    model.compile("sgd", "mse")
    return model


def pairs():
    """A size that grows with the square of the batch."""
    inputs = keras.Input((40,))
    x = layers.Dense(48)(inputs)
    model = keras.Model(
        inputs, layers.Lambda(lambda value: tf.reshape(tf.matmul(value, value, transpose_b=True), [-1]))(x)
    )
    model.compile("sgd")
    return model


def untrained():
    return keras.Sequential([keras.Input((40,)), layers.Dense(64)])


def ragged():
    return untrained(), tf.data.Dataset.from_tensors(tf.ragged.constant([[1.0], [1.0, 2.0]]))


def exits():
    raise SystemExit(3)


def trains():
    model = _dense("sgd")
    model.fit(np.zeros((8, 40)), np.zeros((8, 3)), epochs=10**9)
    return model


def nothing():
    _dense("sgd")
