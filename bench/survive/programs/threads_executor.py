"""Map a function over shards with a pool of threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

shards = list(range(24))


def features(shard):
    values = np.arange(shard, shard + 2_000_000, dtype=np.float64)
    return np.stack([values, values**2, np.sqrt(values)])


def load(some):
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(features, some))


try:
    print("loaded", len(load(shards)))
except MemoryError as error:
    print("refused", type(error).__name__)

print("ALIVE", int(load(shards[:2])[1][0].sum()) + sum(shards))
