"""A worker process writes its results into a memory-mapped file in /dev/shm."""

import multiprocessing
import sys

import numpy as np

ROWS = 200_000


def worker(path):
    table = np.memmap(path, dtype=np.float32, mode="w+", shape=(ROWS, 64))
    rng = np.random.default_rng(0)
    for start in range(0, ROWS, 10_000):
        table[start : start + 10_000] = rng.random((10_000, 64), dtype=np.float32)  # <-- dies here


def main():
    process = multiprocessing.get_context("spawn").Process(target=worker, args=("/dev/shm/results.f32",))
    process.start()
    process.join()
    if process.exitcode != 0:
        print("the worker ended with", process.exitcode, file=sys.stderr)
        sys.exit(1)  # <-- or here
    print("done")


if __name__ == "__main__":
    main()
