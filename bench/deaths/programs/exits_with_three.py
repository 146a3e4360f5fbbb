"""A check that reports its result in the exit code."""

import sys

import numpy as np


def drift(reference, current):
    return float(abs(reference.mean() - current.mean()))


def main():
    rng = np.random.default_rng(0)
    value = drift(rng.normal(0.0, 1.0, 1_000), rng.normal(0.8, 1.0, 1_000))
    print(f"drift {value:.3f}")
    if value > 0.5:
        sys.exit(3)  # <-- dies here


if __name__ == "__main__":
    main()
