"""Repeat a small data set until there is enough of it."""

import tensorflow as tf

data = tf.cast(tf.reshape(tf.range(1_000_000) % 9, (10_000, 100)), tf.float32)


def repeat(tensor, times):
    for _ in range(times):
        tensor = tf.concat([tensor, tensor], axis=0)
        print("rows", tensor.shape[0])
    return tensor


try:
    repeat(data, 9)
except (MemoryError, tf.errors.ResourceExhaustedError) as error:
    print("refused", type(error).__name__)

twice = repeat(data[:1000], 1)
print("ALIVE", int(tf.reduce_sum(twice)) + int(tf.reduce_sum(data[:, 0])))
