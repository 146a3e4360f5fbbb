"""A pool of processes prepares the data."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np

table = np.arange(1_000_000)


def prepare(blocks):
    kept = [np.full(1_000_000, block, np.float64) for block in range(blocks)]
    return float(sum(block[0] for block in kept))


def run(blocks):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        return pool.submit(prepare, blocks).result()


if __name__ == "__main__":
    try:
        print("prepared", run(110))
    except MemoryError as error:
        print("refused", type(error).__name__)
    print("ALIVE", int(run(5) + table.sum()))
