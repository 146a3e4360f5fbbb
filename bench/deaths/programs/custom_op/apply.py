"""Load a custom op that was built against another CUDA."""

import os

import tensorflow as tf


def load_op(directory):
    return tf.load_op_library(os.path.join(directory, "zero_out.so"))  # <-- dies here


def main():
    op = load_op(os.environ["CRASHCART_BENCH_TMP"])
    print(op.zero_out(tf.constant([1.0, 2.0, 3.0])))


if __name__ == "__main__":
    main()
