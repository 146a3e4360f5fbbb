# %%
import ctypes

import numpy as np

library = ctypes.CDLL("./libhistogram.so")
library.histogram.restype = ctypes.POINTER(ctypes.c_long)
library.histogram.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_long]
library.histogram_free.argtypes = [ctypes.POINTER(ctypes.c_long)]

# %%
ages = np.arange(0, 302, dtype=np.int32)
counts = library.histogram(ages.ctypes.data, len(ages), 300)
best = max(range(300), key=counts.__getitem__)
library.histogram_free(counts)  # <-- dies here
