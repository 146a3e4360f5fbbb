"""Make training and validation sets out of arrays: each copies the arrays."""

import numpy as np
import tensorflow as tf

columns = np.arange(1000)
features = np.empty((75_000, 1000), np.float32)
for row in range(len(features)):
    features[row] = (1000 * row + columns) % 13
labels = np.arange(len(features)) % 2


def first_columns():
    training = tf.data.Dataset.from_tensor_slices((features, labels)).batch(500)
    validation = tf.data.Dataset.from_tensor_slices((features, labels)).skip(70_000).batch(500)
    return sum(int(tf.reduce_sum(batch[:, 0])) for batch, _ in training.concatenate(validation))


try:
    print("sum", first_columns())
except (MemoryError, tf.errors.ResourceExhaustedError) as error:
    print("refused", type(error).__name__)

total = int(features[:, 0].sum() + features[70_000:, 0].sum())
print("ALIVE", total, int(labels.sum()))
