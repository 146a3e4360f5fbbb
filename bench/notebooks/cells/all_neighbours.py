# %%
import ctypes

import numpy as np

library = ctypes.CDLL("./libneighbours.so")
library.nearest_mean.restype = ctypes.c_double
library.nearest_mean.argtypes = [ctypes.POINTER(ctypes.c_double), ctypes.c_int64]

# %%
points = np.random.default_rng(0).random(2_000_000)
pointer = points.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
library.nearest_mean(pointer, len(points))  # <-- dies here
