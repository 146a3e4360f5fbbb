"""A pipeline of array steps, each of which makes a copy that is still held."""

import numpy as np

rng = np.random.default_rng(8)
values = rng.integers(0, 10**6, 12_000_000)
total = int(values.sum())


def steps(data):
    ordered = np.sort(data)
    centred = ordered - ordered.mean()
    scaled = centred / centred.std()
    clipped = np.clip(scaled, -2, 2)
    return np.stack([ordered, centred, scaled, clipped])


try:
    print("steps", steps(values).shape)
except MemoryError as error:
    print("refused", type(error).__name__)

assert int(values.sum()) == total
print("ALIVE", total + int(np.sort(values[:500_000])[250_000]))
