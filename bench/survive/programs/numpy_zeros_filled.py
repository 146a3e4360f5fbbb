"""Make a large table of zeros, which costs nothing, and fill it row by row."""

import numpy as np

weights = np.arange(1, 2_001, dtype=np.float64)


def fill(rows):
    table = np.zeros((rows, 2_000))
    for row in range(rows):
        table[row] = weights * row
    return table


try:
    print("filled", fill(55_000).shape)
except MemoryError as error:
    print("refused", type(error).__name__)

print("ALIVE", int(fill(200).sum()))
