"""A hundred megabytes taken and given back, three hundred times."""

import numpy as np

total = 0
for number in range(300):
    block = np.empty(100 * 2**20, np.uint8)
    block[::4096] = number % 250
    total += int(block[:: 2**20].sum())
    del block
print("total", total)
