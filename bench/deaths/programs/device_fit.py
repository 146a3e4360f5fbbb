"""Train an image classifier on a device with little memory of its own."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


def build():
    model = tf.keras.Sequential(
        [
            tf.keras.Input((96, 96, 3)),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(4),
            layers.Flatten(),
            layers.Dense(10),
        ]
    )
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def run(batch_size):
    rng = np.random.default_rng(0)
    x = rng.random((256, 96, 96, 3), dtype=np.float32)
    y = rng.integers(0, 10, 256)
    return build().fit(x, y, batch_size=batch_size, epochs=1)  # <-- dies here


if __name__ == "__main__":
    run(batch_size=128)
