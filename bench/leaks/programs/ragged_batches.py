"""Batches of very different sizes in an eager loop: the allocator keeps what it once needed, and no more."""

import sys

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
weights = [tf.Variable(tf.random.normal((64, 64), stddev=0.1)) for _ in range(3)]
optimizer = tf.keras.optimizers.SGD(0.01)
for step in range(int(sys.argv[1])):
    rows = int(rng.lognormal(6.5, 0.8))
    x = tf.constant(rng.random((min(rows, 8_000), 64), dtype=np.float32))
    with tf.GradientTape() as tape:
        out = x
        for weight in weights:
            out = tf.nn.tanh(tf.matmul(out, weight))
        loss = tf.reduce_mean((out - x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    if step % 100 == 0:
        print("step", step, "rows", x.shape[0], float(loss), flush=True)
