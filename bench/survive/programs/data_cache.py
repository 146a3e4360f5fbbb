"""Cache a decoded data set in memory so that the second epoch is fast."""

import tensorflow as tf


def decode(number):
    return tf.fill((640, 640, 3), tf.cast(number % 4, tf.float32))


images = tf.data.Dataset.range(270).map(decode).cache()
epochs = []
for _ in range(2):
    total = 0
    for each in images:
        total += int(each[0, 0, 0])
    epochs.append(total)
assert epochs[0] == epochs[1]
print("ALIVE", epochs)
