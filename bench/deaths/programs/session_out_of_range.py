"""A TF 1 style input loop that runs one epoch too long."""

import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def build():
    data = tf.data.Dataset.range(100).batch(25)
    return tf.reduce_sum(tf.data.make_one_shot_iterator(data).get_next())


def main():
    total = build()
    with tf.Session() as session:
        for step in range(8):
            value = session.run(total)  # <-- dies here
            print(step, value, flush=True)


if __name__ == "__main__":
    main()
