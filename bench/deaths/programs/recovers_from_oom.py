"""Halve the batch until it fits: the errors on the way are caught, the run succeeds."""

import tensorflow as tf


def run_batch(size):
    activations = tf.random.normal([size, 100_000])
    return float(tf.reduce_mean(activations))


def largest_batch(start):
    size = start
    while True:
        try:
            run_batch(size)
            return size
        except tf.errors.ResourceExhaustedError as error:
            print("does not fit:", size, str(error).splitlines()[0][:120], flush=True)
            size //= 1_024


if __name__ == "__main__":
    print("largest batch", largest_batch(start=100_000_000))
