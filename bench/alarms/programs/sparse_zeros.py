"""A table of zeros many times larger than memory, touched here and there."""

import numpy as np

counts = np.zeros(2 * 10**9, np.uint32)
for key in range(0, 2 * 10**9, 70_000_003):
    counts[key] += 1
grid = np.zeros((40_000, 40_000))
grid[::4_000, ::4_000] = 2
print("touched", int(counts[::70_000_003].sum()), grid[::4_000].sum())
