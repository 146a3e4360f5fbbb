"""Apply a TensorFlow function directly to a Keras input."""

import tensorflow as tf
from tensorflow.keras import layers


def normalised(inputs):
    mean = tf.reduce_mean(inputs, axis=-1, keepdims=True)  # <-- dies here
    return layers.Subtract()([inputs, mean])


def build(features):
    inputs = tf.keras.Input((features,))
    return tf.keras.Model(inputs, layers.Dense(1)(normalised(inputs)))


if __name__ == "__main__":
    build(12).summary()
