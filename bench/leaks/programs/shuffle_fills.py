"""A tf.data pipeline whose shuffle buffer and cache fill while training begins."""

import sys

import numpy as np
import tensorflow as tf

steps = int(sys.argv[1])


def rows():
    rng = np.random.default_rng(0)
    for _ in range(60):
        yield rng.random((50, 3_000), dtype=np.float32)


data = tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec((50, 3_000), tf.float32))
data = data.unbatch().cache().repeat().shuffle(2_000, seed=0).batch(32).prefetch(tf.data.AUTOTUNE)
model = tf.keras.Sequential(
    [tf.keras.Input((3_000,)), tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)]
)
model.compile("adam", "mse")
model.fit(
    data.map(lambda x: (x, tf.reduce_mean(x, axis=1, keepdims=True))), steps_per_epoch=50, epochs=steps // 50, verbose=2
)
