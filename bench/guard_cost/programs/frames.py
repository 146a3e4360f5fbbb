"""Work on tables with many temporaries: a block for each line on stdin, answered by the block's seconds on stdout."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from bench.blocks import serve

random = np.random.default_rng(0)
TABLES = [
    pd.DataFrame({"key": random.integers(0, 50, rows), "value": random.random(rows), "weight": random.random(rows)})
    for rows in (500, 5_000, 50_000, 200_000)  # a column takes 4 KB to 1.6 MB, a table 12 KB to 5 MB
]


def work(rounds):
    total = 0.0
    for _ in range(rounds):
        for table in TABLES:
            large = table[table["value"] > 0.3].copy()
            large["score"] = large["value"] * large["weight"] + large["value"] ** 2
            total += float(large.groupby("key")["score"].mean().sum())
            scaled = (large.to_numpy() - large.to_numpy().mean(axis=0)).astype(np.float32)
            total += float(np.concatenate([scaled, scaled]).sum())
    return total


def main():
    rounds = int(sys.argv[1])
    work(rounds)
    serve(lambda: work(rounds))


main()
