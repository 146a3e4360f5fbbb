"""Turn a data set into one batch to get it as an array."""

import tensorflow as tf

means = tf.constant([1.0, 2.0, 3.0])


def as_array(count):
    rows = tf.data.Dataset.range(count).map(lambda n: tf.fill((300_000,), tf.cast(n % 3, tf.float32)))
    return next(iter(rows.batch(count))).numpy()


try:
    print("array", as_array(1_000).shape)
except (MemoryError, tf.errors.ResourceExhaustedError) as error:
    print("refused", type(error).__name__)

print("ALIVE", int(as_array(30)[:, 0].sum()) + int(tf.reduce_sum(means)))
