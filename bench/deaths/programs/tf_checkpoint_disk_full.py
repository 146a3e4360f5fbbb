"""Save optimizer and weights with tf.train.Checkpoint in a custom loop."""

import os
import sys

import tensorflow as tf


class Run:
    def __init__(self, directory):
        self.weights = tf.Variable(tf.random.normal([512, 1_024]))
        checkpoint = tf.train.Checkpoint(weights=self.weights)
        self.manager = tf.train.CheckpointManager(checkpoint, os.path.join(directory, "run"), max_to_keep=None)

    def step(self, number):
        self.weights.assign_sub(0.01 * self.weights)
        if number % 5 == 0:
            path = self.manager.save()  # <-- dies here
            print("saved", path, flush=True)


def main(directory):
    run = Run(directory)
    for number in range(100):
        run.step(number)


if __name__ == "__main__":
    main(sys.argv[1])
