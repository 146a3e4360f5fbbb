"""A training step that is slower than the pipeline, with a deep prefetch."""

import time

import tensorflow as tf


def load(number):
    return tf.fill((128, 128, 3), tf.cast(number % 6, tf.float32))


batches = tf.data.Dataset.range(128 * 64).map(load).batch(128).prefetch(64)
total = 0
for number, batch in enumerate(batches):
    if number == 0:
        time.sleep(5)  # the first step compiles
    total += int(tf.reduce_sum(batch[:, 0, 0, 0]))
print("ALIVE", total)
