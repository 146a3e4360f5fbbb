"""Train a small convolutional network with far too large a batch."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

tf.keras.utils.set_random_seed(22)
images = np.random.default_rng(22).random((320, 64, 64, 3), np.float32)
labels = np.arange(320) % 10

model = tf.keras.Sequential(
    [
        layers.Input((64, 64, 3)),
        layers.Conv2D(64, 3, padding="same", activation="relu"),
        layers.Conv2D(64, 3, padding="same", activation="relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(10),
    ]
)
model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))

history = model.fit(images, labels, batch_size=320, epochs=1, verbose=0)
loss = history.history["loss"][0]
assert 2.2 < loss < 2.4, loss

scores = model.predict(images[:16], verbose=0)
assert np.isfinite(scores).all()
print("ALIVE", scores.shape, int(labels.sum()))
