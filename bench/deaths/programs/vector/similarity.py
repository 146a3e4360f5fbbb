"""Cosine similarity with a vectorised library that was built on another machine."""

import ctypes
import os

import numpy as np

library = ctypes.CDLL(os.path.join(os.environ["CRASHCART_BENCH_TMP"], "libdot.so"))
library.dot.restype = ctypes.c_double
library.dot.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]


def dot(a, b):
    return library.dot(a.ctypes.data, b.ctypes.data, len(a))  # <-- dies here


def cosine(a, b):
    return dot(a, b) / np.sqrt(dot(a, a) * dot(b, b))


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print("similarity", cosine(rng.random(4_096), rng.random(4_096)))
