"""Keep the tokenised corpus in /dev/shm for fast access."""

import pickle

import numpy as np

CACHE = "/dev/shm/tokens.pickle"


def tokenise(documents):
    rng = np.random.default_rng(0)
    return {number: rng.integers(0, 30_000, 2_000) for number in range(documents)}


def save_cache(tokens):
    with open(CACHE, "wb") as file:
        pickle.dump(tokens, file)  # <-- dies here


if __name__ == "__main__":
    save_cache(tokenise(3_000))
    print("cached")
