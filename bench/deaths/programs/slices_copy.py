"""from_tensor_slices over an array that already fills more than half of the memory."""

import numpy as np
import tensorflow as tf


def load(count):
    rng = np.random.default_rng(0)
    images = np.empty((count, 64, 64, 3), np.float32)
    for start in range(0, count, 1_000):
        images[start : start + 1_000] = rng.random((1_000, 64, 64, 3), dtype=np.float32)
    return images


def make_dataset(images):
    dataset = tf.data.Dataset.from_tensor_slices(images)  # <-- dies here
    return dataset.batch(32)


def main():
    dataset = make_dataset(load(24_000))
    print("batches", sum(1 for _ in dataset))


if __name__ == "__main__":
    main()
