"""Compile with the learning-rate argument of old Keras."""

import tensorflow as tf
from tensorflow.keras import layers


class Experiment:
    def __init__(self, rate):
        self.model = tf.keras.Sequential([tf.keras.Input((4,)), layers.Dense(1)])
        optimizer = tf.keras.optimizers.Adam(lr=rate)  # <-- dies here
        self.model.compile(optimizer, "mse")


if __name__ == "__main__":
    print(Experiment(rate=1e-3).model.optimizer)
