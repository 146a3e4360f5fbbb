"""Weighted ages: the ages are integers, the weights are not."""

import tensorflow as tf


def weighted(ages, weights):
    return ages * weights  # <-- dies here


def main():
    ages = tf.constant([31, 42, 27])
    weights = tf.constant([0.2, 0.5, 0.3])
    print("weighted age", float(tf.reduce_sum(weighted(ages, weights))))


if __name__ == "__main__":
    main()
