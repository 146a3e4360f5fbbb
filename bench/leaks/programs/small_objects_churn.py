"""Tokenised documents in Python lists, made anew for each batch, with a window over the last thirty batches."""

import sys
from collections import deque

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
window = deque(maxlen=30)
model = tf.keras.Sequential([tf.keras.Input((512,)), tf.keras.layers.Dense(1, activation="sigmoid")])
model.compile("adam", "binary_crossentropy")
for step in range(int(sys.argv[1])):
    documents = [[f"token{n}" for n in rng.integers(0, 10**6, 150)] for _ in range(24)]
    window.append(documents)
    x = np.zeros((24, 512), np.float32)
    for row, tokens in enumerate(documents):
        for token in tokens:
            x[row, len(token) * 31 % 512] += 1
    loss = model.train_on_batch(x, rng.integers(0, 2, (24, 1)))
    if step % 100 == 0:
        print("step", step, float(loss), sum(map(len, window)), flush=True)
