"""The similarity of every item with every other."""

import tensorflow as tf

items = tf.cast(tf.reshape(tf.range(21_000 * 8) % 5, (21_000, 8)), tf.float32)


def similarity(vectors):
    return tf.matmul(vectors, vectors, transpose_b=True)


try:
    print("similarity", similarity(items).shape)
except (MemoryError, tf.errors.ResourceExhaustedError) as error:
    print("refused", type(error).__name__)

part = similarity(items[:2_000])
print("ALIVE", int(tf.reduce_max(part)) + int(tf.reduce_sum(items)))
