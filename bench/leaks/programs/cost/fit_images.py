"""Keras `fit` of a small convolutional network: a block is an epoch."""

import builtins
import sys
from pathlib import Path

import numpy as np
from tensorflow import keras

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))
from bench.leaks.served import serve

profile = getattr(builtins, "profile", lambda function: function)
rng = np.random.default_rng(0)
images, labels = rng.random((1_024, 32, 32, 3), dtype=np.float32), rng.integers(0, 10, 1_024)
model = keras.Sequential(
    [
        keras.Input((32, 32, 3)),
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(32, 3, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(10),
    ]
)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])


@profile
def epoch():
    history = model.fit(images, labels, batch_size=32, epochs=int(sys.argv[1]), verbose=0)
    return history.history["loss"][-1]


model.fit(images[:64], labels[:64], verbose=0)
serve(epoch)
