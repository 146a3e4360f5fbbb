"""Build and save the model; run by setup of serve.py in a process of its own."""

import sys

import tensorflow as tf


class Scale(tf.keras.layers.Layer):
    def __init__(self, factor=2.0, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor

    def call(self, x):
        return x * self.factor

    def get_config(self):
        return {**super().get_config(), "factor": self.factor}


if __name__ == "__main__":
    model = tf.keras.Sequential([tf.keras.Input((4,)), Scale(3.0), tf.keras.layers.Dense(1)])
    model.save(sys.argv[1])
