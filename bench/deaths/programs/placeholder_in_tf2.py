"""A TF 1 model definition on TF 2."""

import tensorflow.compat.v1 as tf


def build_graph(features):
    x = tf.placeholder(tf.float32, [None, features], name="x")  # <-- dies here
    w = tf.get_variable("w", [features, 1])
    return x, tf.matmul(x, w)


def main():
    x, y = build_graph(5)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        print(session.run(y, {x: [[1.0] * 5]}))


if __name__ == "__main__":
    main()
