"""Evaluate a model in a forked child while the parent goes on."""

import os

import tensorflow as tf


def train():
    weights = tf.Variable(tf.random.normal([600, 600]))
    for _ in range(20):
        weights.assign(tf.tanh(tf.matmul(weights, weights)))
    return weights


def evaluate(weights):
    score = tf.reduce_mean(tf.matmul(weights, weights, transpose_b=True))  # <-- dies here
    print("score", float(score), flush=True)


def main():
    weights = train()
    child = os.fork()
    if child == 0:
        evaluate(weights)
        os._exit(0)
    _, status = os.waitpid(child, 0)  # <-- or here
    print("child ended with", status)


if __name__ == "__main__":
    main()
