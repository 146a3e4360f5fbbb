"""Compute distance matrices of several cohorts in parallel."""

from concurrent.futures import ProcessPoolExecutor

import numpy as np

COHORTS = {"a": 2_000, "b": 3_000, "c": 16_000}


def distances(name_and_size):
    name, size = name_and_size
    points = np.random.default_rng(size).random((size, 3))
    squared = np.zeros((size, size))
    for axis in range(3):
        squared += (points[:, axis, None] - points[None, :, axis]) ** 2  # <-- dies here
    return name, float(np.sqrt(squared).mean())


def main():
    with ProcessPoolExecutor(max_workers=2) as pool:
        for name, mean in pool.map(distances, COHORTS.items()):  # <-- or here
            print(name, "mean distance", round(mean, 4), flush=True)


if __name__ == "__main__":
    main()
