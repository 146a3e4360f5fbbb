"""A slow consumer behind a deep prefetch of large batches."""

import time

import numpy as np
import tensorflow as tf


def read_scans():
    rng = np.random.default_rng(0)
    while True:
        yield rng.random((64, 64, 64), dtype=np.float32)


def make_dataset():
    signature = tf.TensorSpec((64, 64, 64), tf.float32)
    scans = tf.data.Dataset.from_generator(read_scans, output_signature=signature)
    return scans.batch(32).prefetch(200)  # <-- or here


def train_slowly(dataset, steps):
    total = 0.0
    for step, batch in enumerate(dataset.take(steps)):  # <-- or here
        time.sleep(1.0)  # <-- dies here
        total += float(tf.reduce_mean(batch))
        print("step", step, total / (step + 1), flush=True)


if __name__ == "__main__":
    train_slowly(make_dataset(), steps=100)
