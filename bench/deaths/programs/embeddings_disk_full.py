"""Write embeddings in parts."""

import pathlib
import sys

import numpy as np


def embed(part):
    return np.random.default_rng(part).random((2_000, 256), dtype=np.float32)


def export(directory, parts):
    for part in range(parts):
        np.save(directory / f"part-{part}.npy", embed(part))  # <-- dies here
        print("wrote part", part, flush=True)


if __name__ == "__main__":
    export(pathlib.Path(sys.argv[1]), parts=20)
