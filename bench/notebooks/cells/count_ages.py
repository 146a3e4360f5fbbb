# %%
import ctypes

import numpy as np

library = ctypes.CDLL("./libhistogram.so")
library.histogram.restype = ctypes.POINTER(ctypes.c_long)
library.histogram.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_long]
library.histogram_free.argtypes = [ctypes.POINTER(ctypes.c_long)]

# %%
def most_common(values, bins):
    counts = library.histogram(values.ctypes.data, len(values), bins)
    best = max(range(bins), key=counts.__getitem__)
    library.histogram_free(counts)  # <-- dies here
    return best

# %%
ages = np.arange(0, 302, dtype=np.int32)
most_common(ages, bins=300)
