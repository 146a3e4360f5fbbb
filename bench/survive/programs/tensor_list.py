"""Keep the activations of each step for a plot at the end."""

import tensorflow as tf

weights = tf.reshape(tf.range(64, dtype=tf.float32), (8, 8))


def steps(count):
    activations = []
    for step in range(count):
        batch = tf.fill((600_000, 8), float(step % 3))
        activations.append(tf.matmul(batch, weights))
    return activations


try:
    print("kept", len(steps(90)))
except (MemoryError, tf.errors.ResourceExhaustedError) as error:
    print("refused", type(error).__name__)

last = steps(3)[-1]
print("ALIVE", int(tf.reduce_sum(last[:1000])) + int(tf.reduce_sum(weights)))
