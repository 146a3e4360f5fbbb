"""Load an array file whose upload was cut short."""

import os
import pathlib
import tempfile

import numpy as np

WORK = pathlib.Path(os.environ.get("CRASHCART_BENCH_TMP") or tempfile.mkdtemp())


def uploaded():
    path = WORK / "features.npy"
    np.save(path, np.arange(10_000.0).reshape(100, 100))
    os.truncate(path, 40_000)
    return path


class Features:
    def __init__(self, path):
        self.values = np.load(path)  # <-- dies here


if __name__ == "__main__":
    print(Features(uploaded()).values.mean())
