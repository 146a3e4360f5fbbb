"""Hello world of TensorFlow 1."""

import tensorflow as tf


def main():
    a = tf.constant(2.0)
    b = tf.constant(3.0)
    with tf.Session() as session:  # <-- dies here
        print(session.run(a * b))


if __name__ == "__main__":
    main()
