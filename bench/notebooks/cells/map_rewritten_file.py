# %%
import numpy as np

np.ones(4_000_000).tofile("features.bin")
features = np.memmap("features.bin", mode="r", dtype=np.float64)

# %%
def shrink(path, rows):
    np.ones(rows).tofile(path)

shrink("features.bin", 1_000)

# %%
total = 0.0
for start in range(0, len(features), 100_000):
    total += float(features[start : start + 100_000].sum())  # <-- dies here
total
