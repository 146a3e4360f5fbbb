"""Labels count from one, the classes from zero."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

CLASSES = 5


def build():
    model = tf.keras.Sequential([tf.keras.Input((12,)), layers.Dense(CLASSES, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy")
    return model


def load():
    rng = np.random.default_rng(0)
    return rng.random((200, 12), dtype=np.float32), rng.integers(1, CLASSES + 1, 200)


def main():
    x, y = load()
    build().fit(x, y, batch_size=50, epochs=2, verbose=2)  # <-- dies here


if __name__ == "__main__":
    main()
