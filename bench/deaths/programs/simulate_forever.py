"""A Monte Carlo simulation that somebody ends."""

import numpy as np


def estimate(rng, samples):
    points = rng.random((samples, 2))
    return 4.0 * ((points**2).sum(axis=1) <= 1.0).mean()  # <-- or here


def main():
    rng = np.random.default_rng(0)
    estimates = []
    for round_number in range(10**9):
        estimates.append(estimate(rng, 200_000))  # <-- dies here
        if round_number % 200 == 0:
            print(round_number, np.mean(estimates), flush=True)


if __name__ == "__main__":
    main()
