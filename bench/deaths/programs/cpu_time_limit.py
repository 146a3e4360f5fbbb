"""A simulation that needs more processor time than the queue allows."""

import numpy as np


def relax(grid, sweeps):
    for sweep in range(sweeps):
        grid[1:-1, 1:-1] = 0.25 * (grid[2:, 1:-1] + grid[:-2, 1:-1] + grid[1:-1, 2:] + grid[1:-1, :-2])  # <-- dies here
        if sweep % 200 == 0:
            print("sweep", sweep, float(grid.mean()), flush=True)
    return grid


if __name__ == "__main__":
    field = np.zeros((800, 800))
    field[0] = 1.0
    relax(field, sweeps=200_000)
