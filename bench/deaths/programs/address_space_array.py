"""Build a lookup table on a login node that limits the address space."""

import numpy as np


def build_table(rows, columns):
    table = np.zeros((rows, columns))  # <-- dies here
    table[:, 0] = np.arange(rows)
    return table


def main():
    for rows in (10_000, 100_000, 1_000_000):
        print(rows, build_table(rows, 256).nbytes >> 20, "MiB", flush=True)


if __name__ == "__main__":
    main()
