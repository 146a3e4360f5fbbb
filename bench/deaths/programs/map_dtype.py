"""Scale byte images in a map function and forget the cast."""

import numpy as np
import tensorflow as tf


class Preprocessor:
    def __init__(self, mean):
        self.mean = tf.constant(mean, tf.float32)

    def __call__(self, image, label):
        centred = image - self.mean  # <-- dies here
        return centred / 255.0, label


def main():
    images = np.random.default_rng(0).integers(0, 256, (32, 28, 28), dtype=np.uint8)
    labels = np.arange(32) % 10
    data = tf.data.Dataset.from_tensor_slices((images, labels)).map(Preprocessor(mean=127.5)).batch(8)
    print(next(iter(data))[0].shape)


if __name__ == "__main__":
    main()
