"""Tensors that take nearly all memory there is."""

import sys
import time

import tensorflow as tf
from memory import held_mb

planned_mb = int(sys.argv[1])
tensors = [tf.ones((2**20,))]
while held_mb() < planned_mb:
    tensors.append(tf.ones((2**20,)))
time.sleep(2)
print("filled", all(float(tensor[-1]) == 1 for tensor in tensors))
