"""Nearest neighbours against a large table of embeddings inside a tf.function."""

import numpy as np
import tensorflow as tf

ROWS, WIDTH = 4_500_000, 128


class Index:
    def __init__(self, table):
        self.table = table

    @tf.function
    def nearest(self, query):
        table = tf.constant(self.table)  # <-- dies here
        return tf.argmax(tf.linalg.matvec(table, query))


def main():
    index = Index(np.zeros((ROWS, WIDTH), np.float32))
    print("nearest", int(index.nearest(tf.ones([WIDTH]))))


if __name__ == "__main__":
    main()
