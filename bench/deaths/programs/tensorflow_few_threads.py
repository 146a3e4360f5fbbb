"""Train a small model in a container that allows few threads."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


def build():
    model = tf.keras.Sequential([tf.keras.Input((8,)), layers.Dense(8, activation="relu"), layers.Dense(1)])
    model.compile("adam", "mse")
    return model


def data():
    rng = np.random.default_rng(0)
    x, y = rng.random((512, 8), dtype=np.float32), rng.random((512, 1), dtype=np.float32)
    rows = tf.data.Dataset.from_tensor_slices((x, y)).repeat()
    rows = rows.map(lambda a, b: (a * 2.0, b), num_parallel_calls=16)  # <-- or here
    return rows.batch(32).prefetch(4)


def main():
    model = build()
    model.fit(data(), steps_per_epoch=50, epochs=2, verbose=2)  # <-- dies here


if __name__ == "__main__":
    main()
