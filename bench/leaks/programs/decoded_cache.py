"""Decoded images are cached by name: the cache is full after the first epoch, and all later ones use it."""

import sys

import numpy as np
from tensorflow import keras


class Images(keras.utils.PyDataset):
    def __init__(self, names, batch_size, **kwargs):
        super().__init__(**kwargs)
        self.names, self.batch_size, self.cache = names, batch_size, {}

    def __len__(self):
        return len(self.names) // self.batch_size

    def decode(self, name):
        if name not in self.cache:
            self.cache[name] = np.random.default_rng(hash(name) % 2**32).random((48, 48, 3), dtype=np.float32)
        return self.cache[name]

    def __getitem__(self, index):
        names = self.names[index * self.batch_size : (index + 1) * self.batch_size]
        return np.stack([self.decode(name) for name in names]), np.array([len(name) % 2 for name in names])


model = keras.Sequential(
    [
        keras.Input((48, 48, 3)),
        keras.layers.Conv2D(8, 5, strides=4, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile("adam", "binary_crossentropy")
model.fit(Images([f"img_{n}.jpg" for n in range(1600)], batch_size=32), epochs=int(sys.argv[1]), verbose=2)
