"""A network built with tf.contrib."""

import tensorflow as tf


def network(x):
    hidden = tf.contrib.layers.fully_connected(x, 64)  # <-- dies here
    return tf.contrib.layers.fully_connected(hidden, 1, activation_fn=None)


if __name__ == "__main__":
    print(network(tf.ones([2, 8])))
