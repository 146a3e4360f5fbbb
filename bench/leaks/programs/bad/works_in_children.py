"""Features computed by forked workers; each of them keeps what it computed."""

import multiprocessing

import numpy as np

kept = []


def features(number):
    kept.append(np.random.default_rng(number).random((300, 300)))
    return float(kept[-1].sum())


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(sum(pool.map(features, range(100))))
