"""Ask a Sequential model for classes, as before TF 2.6."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


def main():
    rng = np.random.default_rng(0)
    model = tf.keras.Sequential([tf.keras.Input((6,)), layers.Dense(3, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(rng.random((60, 6)), rng.integers(0, 3, 60), epochs=1, verbose=2)
    classes = model.predict_classes(rng.random((5, 6)))  # <-- dies here
    print(classes)


if __name__ == "__main__":
    main()
