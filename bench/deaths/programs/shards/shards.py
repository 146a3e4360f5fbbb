"""Reads the shards of the embedding table."""

import numpy as np


def read_shard(number, rows, columns):
    rng = np.random.default_rng(number)
    return rng.random((rows, columns))


def load_all(count, rows, columns):
    parts = []
    for number in range(count):
        parts.append(read_shard(number, rows, columns))
        print(f"shard {number + 1}/{count}", flush=True)
    return np.concatenate(parts, axis=0)  # <-- dies here
