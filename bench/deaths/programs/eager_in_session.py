"""TF 1 habits: compute eagerly, then run the result in a session."""

import numpy as np
import tensorflow as tf


def similarity(left, right):
    return tf.matmul(tf.nn.l2_normalize(left, 1), tf.nn.l2_normalize(right, 1), transpose_b=True)


def main():
    rng = np.random.default_rng(0)
    scores = similarity(tf.constant(rng.random((10, 4))), tf.constant(rng.random((20, 4))))
    with tf.compat.v1.Session() as session:
        print(session.run(scores).shape)  # <-- dies here


if __name__ == "__main__":
    main()
