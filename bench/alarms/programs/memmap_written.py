"""A matrix on disk, several times larger than memory, written through and read through."""

import numpy as np

matrix = np.memmap("matrix.bin", np.float32, "w+", shape=(300, 1_000_000))
for row in range(300):
    matrix[row] = row
matrix.flush()
total = sum(float(matrix[row, ::1000].sum()) for row in range(300))
print("total", total)
