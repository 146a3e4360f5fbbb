"""Workers that read the parent's arrays: together they seem to use several times the memory."""

import multiprocessing
import time

import numpy as np

shared = np.ones(300 * 2**20, np.uint8)


def share(part):
    total = int(shared.sum())
    time.sleep(0.2)
    return total + part


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(4) as pool:
        print("shares", pool.map(share, range(12)))
