"""Use two numeric libraries that each bring an OpenMP runtime."""

import ctypes
import os
import pathlib

WORK = pathlib.Path(os.environ["CRASHCART_BENCH_TMP"])


class NumericLibrary:
    """A package with its own copy of the OpenMP runtime in its folder."""

    def __init__(self, folder):
        self.runtime = ctypes.CDLL(str(WORK / folder / "libiomp5.so"))

    def threads(self):
        return self.runtime.omp_get_max_threads()  # <-- dies here


def main():
    for folder in ("linalg", "boosting"):
        print(folder, NumericLibrary(folder).threads(), "threads", flush=True)


if __name__ == "__main__":
    main()
