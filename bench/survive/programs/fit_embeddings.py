"""Adam's two moments beside a large embedding and its gradient."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

tf.keras.utils.set_random_seed(23)
tokens = np.random.default_rng(23).integers(0, 1_000_000, (64, 20))
labels = np.arange(64) % 2

model = tf.keras.Sequential(
    [layers.Input((20,)), layers.Embedding(1_000_000, 64), layers.GlobalAveragePooling1D(), layers.Dense(2)]
)
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
history = model.fit(tokens, labels, batch_size=32, epochs=2, verbose=0)
assert 0.6 < history.history["loss"][0] < 0.8

scores = model.predict(tokens, verbose=0)
assert np.isfinite(scores).all()
print("ALIVE", scores.shape, int(labels.sum()))
