"""Ask a dataset for more batches than it has."""

import numpy as np
import tensorflow as tf


def train_steps(dataset, steps):
    iterator = iter(dataset)
    total = 0.0
    for step in range(steps):
        batch = next(iterator)  # <-- dies here
        total += float(tf.reduce_mean(batch))
        print("step", step, flush=True)
    return total


def main():
    data = tf.data.Dataset.from_tensor_slices(np.random.default_rng(0).random((64, 8))).batch(16)
    print(train_steps(data, steps=10))


if __name__ == "__main__":
    main()
