"""Use OpenCV-style NumPy code in a tf.data map function."""

import numpy as np
import tensorflow as tf


def rotate(image, label):
    pixels = image.numpy()  # <-- dies here
    return np.rot90(pixels), label


def main():
    images = np.random.default_rng(0).random((16, 8, 8), dtype=np.float32)
    data = tf.data.Dataset.from_tensor_slices((images, np.arange(16))).map(rotate).batch(4)
    for batch, _ in data:
        print(batch.shape)


if __name__ == "__main__":
    main()
