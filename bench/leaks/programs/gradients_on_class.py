"""Gradient statistics kept on the class, not on the object: every trainer of every run shares one list."""

import sys

import numpy as np
import tensorflow as tf


class Trainer:
    gradients = []

    def __init__(self, rate):
        self.model = tf.keras.Sequential(
            [tf.keras.Input((128,)), tf.keras.layers.Dense(512, activation="relu"), tf.keras.layers.Dense(1)]
        )
        self.optimizer = tf.keras.optimizers.SGD(rate)

    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.model(x) - y) ** 2)
        found = tape.gradient(loss, self.model.trainable_variables)
        self.gradients.append(found)  # <-- grows here
        self.optimizer.apply_gradients(zip(found, self.model.trainable_variables))
        return loss

    def largest(self):
        return max(float(tf.norm(each[0])) for each in self.gradients[-10:])


def run(rate, steps):
    trainer, rng = Trainer(rate), np.random.default_rng(0)
    for step in range(steps):
        x = rng.random((32, 128), dtype=np.float32)
        loss = trainer.step(x, x[:, :1])
        if step % 50 == 49:
            print(rate, step, float(loss), trainer.largest(), flush=True)


for rate in (0.1, 0.01):
    run(rate, int(sys.argv[1]) // 2)
