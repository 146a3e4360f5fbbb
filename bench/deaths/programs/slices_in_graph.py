"""An input pipeline in a TF 1 style graph, fed from one large array."""

import numpy as np
import tensorflow as tf


def input_fn(images, labels, batch_size):
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))  # <-- dies here
    return tf.compat.v1.data.make_one_shot_iterator(dataset.batch(batch_size)).get_next()


def main():
    images = np.zeros((60_000, 100, 100), np.float32)
    labels = np.zeros(60_000, np.int64)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        batch, _ = input_fn(images, labels, batch_size=32)
        print(session.run(batch).shape)


if __name__ == "__main__":
    main()
