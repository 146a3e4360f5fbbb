"""A next-word model whose targets are one-hot vectors over the whole vocabulary."""

import numpy as np
import tensorflow as tf

VOCABULARY = 50_000
SEQUENCE = 200
BATCH = 96


def token_batch(seed):
    rng = np.random.default_rng(seed)
    return tf.constant(rng.integers(0, VOCABULARY, (BATCH, SEQUENCE)), tf.int32)


def make_targets(tokens):
    shifted = tf.roll(tokens, shift=-1, axis=1)
    return tf.one_hot(shifted, depth=VOCABULARY)  # <-- dies here


def main():
    embedding = tf.keras.layers.Embedding(VOCABULARY, 16)
    for step in range(10):
        tokens = token_batch(step)
        states = embedding(tokens)
        targets = make_targets(tokens)
        print(step, states.shape, targets.shape)


if __name__ == "__main__":
    main()
