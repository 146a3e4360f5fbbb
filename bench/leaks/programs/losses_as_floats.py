"""A custom loop that notes step, loss and rate of each step as plain numbers for a plot."""

import sys

import numpy as np
import tensorflow as tf

model = tf.keras.Sequential(
    [tf.keras.Input((64,)), tf.keras.layers.Dense(128, activation="relu"), tf.keras.layers.Dense(1)]
)
optimizer = tf.keras.optimizers.Adam(1e-3)
history = []
rng = np.random.default_rng(0)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


for step in range(int(sys.argv[1])):
    x = rng.random((128, 64), dtype=np.float32)
    loss = train_step(tf.constant(x), tf.constant(x[:, :1]))
    history.append({"step": step, "loss": float(loss), "rate": float(optimizer.learning_rate)})
    if step % 300 == 0:
        print(history[-1], flush=True)
