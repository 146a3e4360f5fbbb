# %%
import ctypes

import numpy as np

library = ctypes.CDLL("./libdot.so")
library.dot.restype = ctypes.c_double
library.dot.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]

# %%
def dot(a, b):
    return library.dot(a.ctypes.data, b.ctypes.data, len(a))  # <-- dies here

# %%
a, b = np.random.default_rng(0).random((2, 4_096))
dot(a, b) / np.sqrt(dot(a, a) * dot(b, b))
