"""Keep every frame of a recording in a list."""

import numpy as np

rng = np.random.default_rng(3)
background = rng.integers(0, 256, (720, 1280), dtype=np.uint8)


def record(frames):
    kept = []
    for number in range(frames):
        kept.append((background + np.uint8(number % 3)).astype(np.float64))
    return kept


try:
    print("frames", len(record(140)))
except MemoryError as error:
    print("refused", type(error).__name__)

few = record(6)
print("ALIVE", int(sum(frame.sum() for frame in few)))
