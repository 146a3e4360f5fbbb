"""A custom layer, run eagerly while it is being developed, that keeps what it has seen to look at it later."""

import sys

import numpy as np
import tensorflow as tf


class Gate(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.dense = tf.keras.layers.Dense(units, activation="sigmoid")
        self.seen = []

    def call(self, inputs):
        gate = self.dense(inputs)
        if tf.executing_eagerly():
            self.seen.append(gate)  # <-- grows here
        return inputs * gate


def main():
    rng = np.random.default_rng(0)
    x = rng.random((2048, 512), dtype=np.float32)
    y = x.mean(axis=1, keepdims=True)
    model = tf.keras.Sequential(
        [tf.keras.Input((512,)), tf.keras.layers.Dense(512, activation="relu"), Gate(512), tf.keras.layers.Dense(1)]
    )
    model.compile("sgd", "mse", run_eagerly=True)
    model.fit(x, y, batch_size=128, epochs=int(sys.argv[1]), verbose=2)


main()
