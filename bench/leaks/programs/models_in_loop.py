"""A population of small networks, made, trained and thrown away one after the other."""

import sys

import numpy as np
import tensorflow as tf


def fitness(genes, x, y):
    hidden = [tf.keras.layers.Dense(int(width), activation="relu") for width in genes]  # <-- or here
    model = tf.keras.Sequential([tf.keras.Input((32,)), *hidden, tf.keras.layers.Dense(1)])  # <-- or here
    model.compile("adam", "mse")
    return model.fit(x, y, epochs=1, batch_size=64, verbose=0).history["loss"][0]  # <-- grows here


rng = np.random.default_rng(0)
x, y = rng.random((128, 32)), rng.random(128)
best = None
for generation in range(int(sys.argv[1])):
    genes = rng.integers(8, 64, size=3)
    score = fitness(genes, x, y)  # <-- or here
    best = min(best or (score, genes.tolist()), (score, genes.tolist()))
    print(generation, genes, round(score, 4), flush=True)
print("best", best)
