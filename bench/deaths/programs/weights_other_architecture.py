"""Load the weights of a smaller network."""

import os
import pathlib
import tempfile

import tensorflow as tf
from tensorflow.keras import layers

WORK = pathlib.Path(os.environ.get("CRASHCART_BENCH_TMP") or tempfile.mkdtemp())


def build(width):
    return tf.keras.Sequential([tf.keras.Input((10,)), layers.Dense(width, activation="relu"), layers.Dense(1)])


def restore(model):
    model.load_weights(WORK / "best.weights.h5")  # <-- dies here
    return model


def main():
    build(width=32).save_weights(WORK / "best.weights.h5")
    print(restore(build(width=64))(tf.ones([1, 10])))


if __name__ == "__main__":
    main()
