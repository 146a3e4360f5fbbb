"""Make training and validation sets out of arrays: each copies the arrays."""

import numpy as np
import tensorflow as tf

features = (np.arange(75_000_000) % 13).reshape(-1, 1000).astype(np.float32)
labels = np.arange(len(features)) % 2

training = tf.data.Dataset.from_tensor_slices((features, labels)).batch(500)
validation = tf.data.Dataset.from_tensor_slices((features, labels)).skip(70_000).batch(500)
everything = training.concatenate(validation)

total = 0
for batch, _ in everything:
    total += int(tf.reduce_sum(batch[:, 0]))
print("ALIVE", total, int(labels.sum()))
