"""Cells of a notebook that trains a model."""

# %%
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

tf.keras.utils.set_random_seed(1)
inputs = np.random.default_rng(1).random((2_000, 32), np.float32)
labels = np.arange(2_000) % 10
model = tf.keras.Sequential([layers.Input((32,)), layers.Dense(64, "relu"), layers.Dense(10)])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(inputs, labels, verbose=0)
# %%
before = model.predict(inputs[:100], verbose=0)
# %%
repeated = np.repeat(inputs, 6_000, axis=0)
scores = model.predict(repeated, batch_size=8_192, verbose=0)
# %%
pairs = tf.matmul(tf.repeat(inputs, 11, axis=0), tf.repeat(inputs, 11, axis=0), transpose_b=True)
print("pairs", pairs.shape)
# %%
repeated = scores = pairs = None
# %%
after = model.predict(inputs[:100], verbose=0)
model.fit(inputs, labels, verbose=0)
print("ALIVE", bool(np.allclose(before, after, atol=1e-5)), int(labels.sum()))
