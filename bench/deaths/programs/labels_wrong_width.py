"""Classifier with ten outputs trained on labels of eight classes."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


def load(count, classes):
    rng = np.random.default_rng(0)
    x = rng.random((count, 20), dtype=np.float32)
    y = tf.keras.utils.to_categorical(rng.integers(0, classes, count), classes)
    return x, y


def build(classes):
    model = tf.keras.Sequential(
        [tf.keras.Input((20,)), layers.Dense(32, activation="relu"), layers.Dense(classes, activation="softmax")]
    )
    model.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
    return model


if __name__ == "__main__":
    x, y = load(256, classes=8)
    build(classes=10).fit(x, y, epochs=3)  # <-- dies here
