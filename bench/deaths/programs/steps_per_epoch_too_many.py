"""Epochs of a hundred steps from a generator with data for less than one: Keras warns, and the run ends in order."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


def batches():
    rng = np.random.default_rng(0)
    for _ in range(60):
        yield rng.random((16, 4), dtype=np.float32), rng.random((16, 1), dtype=np.float32)


def train(epochs):
    model = tf.keras.Sequential([tf.keras.Input((4,)), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model.fit(batches(), steps_per_epoch=100, epochs=epochs, verbose=2)


def report(history, epoch):
    loss = history.history["loss"][epoch]
    print(f"loss after epoch {epoch + 1}: {loss:.4f}")


if __name__ == "__main__":
    report(train(epochs=3), epoch=2)
