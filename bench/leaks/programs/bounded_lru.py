"""Features behind a functools cache of 300 entries, with texts that hardly come twice."""

import functools
import sys

import numpy as np
import tensorflow as tf


@functools.lru_cache(maxsize=300)
def features(key):
    return np.random.default_rng(key).normal(size=(64, 128)).astype(np.float32)


def main():
    rng = np.random.default_rng(0)
    model = tf.keras.Sequential(
        [tf.keras.Input((64, 128)), tf.keras.layers.GlobalAveragePooling1D(), tf.keras.layers.Dense(1)]
    )
    model.compile("rmsprop", "mse")
    for step in range(int(sys.argv[1])):
        x = np.stack([features(int(key)) for key in rng.integers(0, 10**9, 16)])
        loss = model.train_on_batch(x, rng.random((16, 1)))
        if step % 50 == 0:
            print("step", step, "loss", float(loss), flush=True)


main()
