# %%
import ctypes

library = ctypes.CDLL("./libresample.so")

# %%
def downsample(values, rate, target_rate):
    signal = (ctypes.c_int * len(values))(*values)
    out = (ctypes.c_int * len(values))()
    written = library.resample(signal, len(values), rate // target_rate, out)  # <-- dies here
    return list(out[:written])

# %%
for target in (100, 250, 2_000):
    print(target, len(downsample(list(range(1_000)), rate=1_000, target_rate=target)))
