"""Pools of threads that are started as they are needed: loading with an executor, training beside it."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import tensorflow as tf


def load(seed):
    rows = np.random.default_rng(seed).random((64, 2_000), dtype=np.float32)
    return np.sort(rows, axis=1)[:, ::20]


def main():
    model = tf.keras.Sequential(
        [tf.keras.Input((100,)), tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(1)]
    )
    model.compile("adam", "mse")
    with ThreadPoolExecutor(16) as pool:
        pending = [pool.submit(load, seed) for seed in range(4)]
        for step in range(int(sys.argv[1])):
            x = pending.pop(0).result()
            wanted = 4 + min(step // 10, 12)
            while len(pending) < wanted:
                pending.append(pool.submit(load, step * 100 + len(pending)))
            loss = model.train_on_batch(x, x.mean(axis=1))
            if step % 50 == 0:
                print("step", step, float(loss), flush=True)


main()
