"""Read measurements with a type name that NumPy no longer has."""

import io

import numpy as np

TEXT = "1.5 2.5\n3.5 4.5\n"


def read_measurements(file):
    return np.loadtxt(file, dtype=np.float)  # <-- dies here


if __name__ == "__main__":
    print(read_measurements(io.StringIO(TEXT)).mean())
