"""A tf.function that is traced anew at each step: the step number is a Python integer."""

import numpy as np
import tensorflow as tf

TABLE = np.random.default_rng(0).random((600, 1_200), dtype=np.float32)


@tf.function
def lookup_step(step, x):
    table = tf.constant(TABLE)
    decay = 1.0 / (1 + step)
    return tf.reduce_sum(tf.matmul(x, table)) * decay


def main():
    x = tf.random.normal([8, 600])
    total = 0.0
    for step in range(20_000):
        total += float(lookup_step(step, x))  # <-- dies here
        if step % 50 == 0:
            print("step", step, round(total, 2), flush=True)


if __name__ == "__main__":
    main()
