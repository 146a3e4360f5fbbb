"""The same few architectures made again and again, each dropped before the next: what is left must not grow."""

import sys

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
x, y = rng.random((256, 64), dtype=np.float32), rng.random((256, 1), dtype=np.float32)
for run in range(int(sys.argv[1])):
    tf.keras.backend.clear_session()
    model = tf.keras.Sequential(
        [tf.keras.Input((64,)), tf.keras.layers.Dense(2_000, activation="relu"), tf.keras.layers.Dense(1)]
    )
    optimizer = tf.keras.optimizers.Adam()
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if run % 10 == 0:
        print("run", run, float(loss), flush=True)
