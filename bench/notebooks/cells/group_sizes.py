# %%
import ctypes

library = ctypes.CDLL("./libresample.so")
plan = {"train": (900, 30), "validation": (100, 10), "test": (50, 0)}

# %%
for split, (count, groups) in plan.items():
    print(split, library.mean_step(count, groups))  # <-- dies here
