"""Neighbour search through a C++ library."""

import ctypes
import os

import numpy as np

library = ctypes.CDLL(os.path.join(os.environ["CRASHCART_BENCH_TMP"], "libneighbours.so"))
library.nearest_mean.restype = ctypes.c_double
library.nearest_mean.argtypes = [ctypes.POINTER(ctypes.c_double), ctypes.c_int64]


def nearest_mean(points):
    pointer = points.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    return library.nearest_mean(pointer, len(points))  # <-- dies here


if __name__ == "__main__":
    points = np.random.default_rng(0).random(2_000_000)
    print("mean", nearest_mean(points))
