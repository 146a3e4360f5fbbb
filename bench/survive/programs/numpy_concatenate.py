"""Augment a data set by joining it with itself until it is large enough."""

import numpy as np

samples = np.arange(250_000, dtype=np.int64)
labels = samples % 7


def augment(data, times):
    for _ in range(times):
        data = np.concatenate([data, data[::-1]])
        print("samples", len(data))
    return data


try:
    augment(samples, 9)
except MemoryError as error:
    print("refused", type(error).__name__)

print("ALIVE", int(augment(samples, 2).sum() + labels.sum()))
