"""A mutable table of user vectors inside TensorFlow: every batch brings users who were never seen before."""

import sys

import numpy as np
import tensorflow as tf

WIDTH = 64
table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, default_value=tf.zeros(WIDTH))
head = tf.Variable(tf.random.normal((WIDTH, 1)))


@tf.function
def update(users, targets):
    vectors = table.lookup(users)
    with tf.GradientTape() as tape:
        tape.watch(vectors)
        loss = tf.reduce_mean((tf.matmul(vectors, head) - targets) ** 2)
    gradient = tape.gradient(loss, vectors)
    table.insert(users, vectors - 0.1 * gradient + tf.random.normal(tf.shape(vectors), stddev=0.01))  # <-- or here
    return loss


def main():
    rng = np.random.default_rng(0)
    for step in range(int(sys.argv[1])):
        users = tf.constant(rng.integers(0, 2**60, 1_000))
        loss = update(users, tf.ones((1_000, 1)))  # <-- grows here
        if step % 50 == 0:
            print("step", step, "loss", float(loss), "users", int(table.size()), flush=True)


main()
