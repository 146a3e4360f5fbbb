"""Cells of a notebook about arrays."""

# %%
import numpy as np

measured = np.arange(2_000_000) % 1000
# %%
grid = np.ones((9_000, 9_000))
# %%
print("mean", measured.mean())
# %%
copies = []
for shift in range(200):
    copies.append(np.roll(measured, shift).astype(np.float64))
# %%
del copies
# %%
grid = np.ones((1_000, 1_000))
print("ALIVE", int(grid.sum() + measured.sum()))
