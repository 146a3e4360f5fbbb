"""A learning-rate sweep that makes and compiles a model for each rate, and a function around each for the export."""

import sys

import numpy as np
import tensorflow as tf

EXPORTS = {}


def build():
    inputs = tf.keras.Input((64,))
    x = inputs
    for _ in range(3):
        x = tf.keras.layers.Dense(64, activation="relu")(x)
    return tf.keras.Model(inputs, tf.keras.layers.Dense(1)(x))


def train(rate, x, y):
    model = build()
    model.compile(tf.keras.optimizers.Adam(rate), "mse")
    model.fit(x, y, epochs=1, verbose=0)

    @tf.function(input_signature=[tf.TensorSpec((None, 64), tf.float32)])
    def predict(rows):
        return model(rows)

    EXPORTS[f"{rate:.8f}"] = predict.get_concrete_function()  # <-- grows here
    return float(tf.reduce_mean((predict(x) - y) ** 2))


data = np.random.default_rng(0)
features = data.random((64, 64), dtype=np.float32)
targets = features.mean(axis=1, keepdims=True)
for number, rate in enumerate(np.geomspace(1e-5, 1e-1, int(sys.argv[1]))):
    print(number, f"rate {rate:.6f}: error {train(rate, features, targets):.5f}", flush=True)
