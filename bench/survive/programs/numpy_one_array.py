"""A correlation table over every pair of sensors, made in one piece."""

import numpy as np

rng = np.random.default_rng(1)
readings = rng.integers(0, 1000, (200, 500))


def make_table(sensors):
    return np.ones((sensors, sensors))


try:
    table = make_table(11_000)
    print("table", table.shape)
except MemoryError as error:
    print("refused", type(error).__name__)

smaller = make_table(1_000)
print("ALIVE", int(readings.sum() + (smaller @ smaller[:, 0]).sum()))
