"""Allow memory growth on the first GPU, as every tutorial does."""

import tensorflow as tf


def configure():
    gpus = tf.config.list_physical_devices("GPU")
    tf.config.experimental.set_memory_growth(gpus[0], True)  # <-- dies here
    return gpus


def main():
    print("using", configure())
    print(tf.reduce_sum(tf.ones([100, 100])))


if __name__ == "__main__":
    main()
