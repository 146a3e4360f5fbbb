"""Histogram through a small C library, with one bin too few."""

import ctypes
import os

import numpy as np

library = ctypes.CDLL(os.path.join(os.environ["CRASHCART_BENCH_TMP"], "libhistogram.so"))
library.histogram.restype = ctypes.POINTER(ctypes.c_long)
library.histogram.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_long]
library.histogram_free.argtypes = [ctypes.POINTER(ctypes.c_long)]


def most_common(values, bins):
    counts = library.histogram(values.ctypes.data, len(values), bins)
    best = max(range(bins), key=counts.__getitem__)
    library.histogram_free(counts)  # <-- dies here
    return best


if __name__ == "__main__":
    ages = np.arange(0, 302, dtype=np.int32)
    print("most common age", most_common(ages, bins=300))
