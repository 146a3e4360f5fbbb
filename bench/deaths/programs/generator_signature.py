"""A generator whose last window is shorter than its signature says."""

import numpy as np
import tensorflow as tf

WINDOW = 32


def windows():
    series = np.sin(np.arange(200) / 5.0).astype(np.float32)
    for start in range(0, len(series), WINDOW):
        yield series[start : start + WINDOW], series[min(start + WINDOW, len(series) - 1)]


def dataset():
    signature = (tf.TensorSpec((WINDOW,), tf.float32), tf.TensorSpec((), tf.float32))
    return tf.data.Dataset.from_generator(windows, output_signature=signature).batch(2)


def main():
    model = tf.keras.Sequential([tf.keras.Input((WINDOW,)), tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(dataset(), epochs=1, verbose=2)  # <-- dies here


if __name__ == "__main__":
    main()
