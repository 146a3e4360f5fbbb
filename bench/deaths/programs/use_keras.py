"""Build a Keras model with a keras package that is older than TensorFlow."""

import tensorflow as tf


def build():
    layers = tf.keras.layers  # <-- dies here
    return tf.keras.Sequential([layers.Dense(4, activation="relu"), layers.Dense(1)])


if __name__ == "__main__":
    model = build()
    print(model(tf.ones([2, 3])).shape)
