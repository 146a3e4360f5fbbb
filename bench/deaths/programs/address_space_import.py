"""Import TensorFlow on a login node that limits the address space."""

import sys

print("python", sys.version.split()[0], flush=True)

import tensorflow as tf  # <-- dies here

print("tensorflow", tf.__version__, "sum", float(tf.reduce_sum(tf.ones([1_000, 1_000]))))
