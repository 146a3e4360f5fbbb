"""A hyper-parameter search that keeps the history of each trial, and with it each model."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


def build(width, rate):
    model = tf.keras.Sequential([tf.keras.Input((256,)), layers.Dense(width, activation="relu"), layers.Dense(1)])
    model.compile(tf.keras.optimizers.Adam(rate), "mse")
    return model


class Search:
    def __init__(self, x, y):
        self.x = x
        self.y = y
        self.trials = []

    def run(self, count):
        rng = np.random.default_rng(0)
        for number in range(count):
            model = build(width=60_000 + number, rate=10 ** rng.uniform(-4, -2))
            self.trials.append(model.fit(self.x, self.y, batch_size=64, verbose=0))  # <-- dies here
            print("trial", number, "loss", self.trials[-1].history["loss"][-1], flush=True)


if __name__ == "__main__":
    data = np.random.default_rng(1)
    Search(data.random((64, 256)), data.random(64)).run(count=200)
