"""An old tutorial's evaluation in a function: each call opens an InteractiveSession and never closes it."""

import sys

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def evaluate(weights, rows):
    tf.reset_default_graph()
    sess = tf.InteractiveSession()  # <-- grows here
    w = tf.get_variable("w", initializer=weights)  # <-- or here
    x = tf.placeholder(tf.float32, [None, weights.shape[0]])
    y = tf.reduce_mean(tf.nn.relu(tf.matmul(x, w)))
    sess.run(tf.global_variables_initializer())
    return sess.run(y, {x: rows})


def main():
    rng = np.random.RandomState(0)
    for number in range(int(sys.argv[1])):
        weights = rng.randn(300, 1000).astype(np.float32)
        score = evaluate(weights, rng.rand(32, 300))
        if number % 20 == 0:
            print("candidate", number, "score", score, flush=True)


main()
