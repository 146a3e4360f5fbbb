"""Gather the features of graph neighbours by index."""

import numpy as np
import tensorflow as tf


def neighbour_features(features, edges):
    return tf.gather(features, edges[:, 1])  # <-- dies here


def main():
    rng = np.random.default_rng(0)
    features = tf.constant(rng.random((100, 16)))
    edges = rng.integers(0, 100, (400, 2))
    edges[17, 1] = 100
    messages = neighbour_features(features, tf.constant(edges))
    print(messages.shape)


if __name__ == "__main__":
    main()
