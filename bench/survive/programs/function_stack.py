"""A tf.function that keeps each state of a loop and stacks them."""

import tensorflow as tf

start = tf.ones((1024, 1024))


@tf.function
def states(count):
    kept = tf.TensorArray(tf.float32, size=count)
    state = start
    for step in tf.range(count):
        state = state + 1.0
        kept = kept.write(step, state)
    return kept.stack()


print("states", states(tf.constant(220)).shape)
few = states(tf.constant(5))
print("ALIVE", int(few[-1, 0, 0]) + int(tf.reduce_sum(start)))
