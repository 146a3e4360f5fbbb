"""A custom training loop that keeps every batch's activations for a later plot."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


def build():
    return tf.keras.Sequential([tf.keras.Input((64,)), layers.Dense(1_024, activation="relu"), layers.Dense(1)])


def batches(steps):
    rng = np.random.default_rng(0)
    for _ in range(steps):
        yield rng.random((64, 64), dtype=np.float32)


def train(steps):
    model = build()
    encoder = model.layers[0]
    optimizer = tf.keras.optimizers.SGD(1e-4)
    probe = tf.random.normal([2_048, 64])
    activations = []
    for step, x in enumerate(batches(steps)):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        activations.append(encoder(probe))  # <-- dies here
        if step % 20 == 0:
            print("step", step, "loss", float(loss), flush=True)
    return activations


if __name__ == "__main__":
    train(steps=5_000)
