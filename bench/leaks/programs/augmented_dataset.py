"""A keras PyDataset that caches augmented images by index and epoch: no entry is ever used twice."""

import sys

import numpy as np
from tensorflow import keras


class Augmented(keras.utils.PyDataset):
    def __init__(self, images, labels, batch_size, **kwargs):
        super().__init__(**kwargs)
        self.images, self.labels, self.batch_size = images, labels, batch_size
        self.epoch = 0
        self.cache = {}

    def __len__(self):
        return len(self.images) // self.batch_size

    def __getitem__(self, index):
        key = (self.epoch, index)
        if key not in self.cache:
            part = slice(index * self.batch_size, (index + 1) * self.batch_size)
            noisy = self.images[part] + np.random.normal(0, 0.1, self.images[part].shape)
            self.cache[key] = noisy.astype("float32"), self.labels[part]  # <-- grows here
        return self.cache[key]

    def on_epoch_end(self):
        self.epoch += 1


def main():
    rng = np.random.default_rng(0)
    images, labels = rng.random((640, 32, 32, 3), dtype=np.float32), rng.integers(0, 10, 640)
    model = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(10),
        ]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(Augmented(images, labels, batch_size=32), epochs=int(sys.argv[1]), verbose=2)


if __name__ == "__main__":
    main()
