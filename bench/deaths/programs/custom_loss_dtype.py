"""A custom loss with a class weight in double precision."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

CLASS_WEIGHTS = tf.constant(np.array([0.3, 0.7]))


class WeightedLoss(tf.keras.losses.Loss):
    def call(self, y_true, y_pred):
        error = tf.square(tf.cast(y_true, tf.float32) - y_pred)
        return tf.reduce_mean(error * CLASS_WEIGHTS, axis=-1)  # <-- dies here


def main():
    rng = np.random.default_rng(0)
    x, y = rng.random((64, 5)), rng.random((64, 2))
    model = tf.keras.Sequential([tf.keras.Input((5,)), layers.Dense(2)])
    model.compile("adam", WeightedLoss())
    model.fit(x, y, epochs=1, verbose=2)


if __name__ == "__main__":
    main()
