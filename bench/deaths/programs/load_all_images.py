"""Read every image of the dataset into a list before training."""

import numpy as np

IMAGES = 2_000


def read_image(number):
    """Stand-in for a decoder: a 512 x 512 colour image as float64, as many decoders return it."""
    rng = np.random.default_rng(number)
    return rng.random((512, 512, 3))  # <-- dies here


def load_dataset():
    images, labels = [], []
    for number in range(IMAGES):
        images.append(read_image(number))  # <-- or here
        labels.append(number % 10)
        if number % 50 == 0:
            print(f"read {number} of {IMAGES}", flush=True)
    return np.stack(images), np.array(labels)


if __name__ == "__main__":
    x, y = load_dataset()
    print(x.shape, y.shape)
