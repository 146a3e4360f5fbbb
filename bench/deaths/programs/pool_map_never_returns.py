"""Augment image stacks in a multiprocessing pool."""

import multiprocessing

import numpy as np


def augment(stack_number):
    frames = 40 if stack_number < 3 else 900
    stack = np.random.default_rng(stack_number).random((frames, 512, 512))  # <-- or here
    flipped = np.concatenate([stack, stack[:, ::-1]])  # <-- dies here
    return float(flipped.mean())


def main():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        means = pool.map(augment, range(5), chunksize=1)  # <-- or here
    print("means", means)


if __name__ == "__main__":
    main()
