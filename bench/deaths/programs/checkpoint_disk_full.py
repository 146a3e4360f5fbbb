"""Train with a checkpoint after each epoch."""

import pathlib
import sys

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


def build():
    model = tf.keras.Sequential([tf.keras.Input((128,)), layers.Dense(1_024, activation="relu"), layers.Dense(1)])
    model.compile("adam", "mse")
    return model


def train(directory):
    rng = np.random.default_rng(0)
    x, y = rng.random((256, 128)), rng.random(256)
    saver = tf.keras.callbacks.ModelCheckpoint(str(directory / "epoch-{epoch:02d}.keras"))
    build().fit(x, y, epochs=10, verbose=2, callbacks=[saver])  # <-- dies here


if __name__ == "__main__":
    train(pathlib.Path(sys.argv[1]))
