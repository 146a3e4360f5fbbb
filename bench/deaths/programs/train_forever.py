"""A long training run that somebody ends."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


def build():
    model = tf.keras.Sequential(
        [
            tf.keras.Input((32,)),
            layers.Dense(128, activation="relu"),
            layers.Dense(64, activation="relu"),
            layers.Dense(1),
        ]
    )
    model.compile("adam", "mse")
    return model


def main():
    rng = np.random.default_rng(0)
    x, y = rng.random((4_096, 32), dtype=np.float32), rng.random((4_096, 1), dtype=np.float32)
    build().fit(x, y, batch_size=64, epochs=10_000, verbose=2)  # <-- dies here


if __name__ == "__main__":
    main()
