"""A training with prefetch that fits: most of the memory is in use all the time."""

import sys

import numpy as np
import tensorflow as tf
from memory import held_mb
from tensorflow.keras import layers

planned_mb = int(sys.argv[1])
tf.keras.utils.set_random_seed(1)
model = tf.keras.Sequential(
    [
        layers.Input((64, 64, 3)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(10),
    ]
)
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
images, labels = np.ones((32, 64, 64, 3), np.float32), np.arange(32) % 10
batches = tf.data.Dataset.from_tensors((images, labels)).repeat(60).prefetch(8)
model.fit(batches, verbose=0)
ballast = np.ones((planned_mb - held_mb() - 30) * 2**20, np.uint8)
history = model.fit(batches, epochs=3, verbose=0)
print("losses", len(history.history["loss"]), bool(np.isfinite(history.history["loss"]).all()), int(ballast[-1]))
