"""Expand the hourly readings of all stations into one dense table."""

import argparse

import numpy as np


def expand(days):
    hours = days * 24
    readings = np.random.default_rng(0).random((hours, 4_000))
    return np.repeat(readings, 60, axis=0)  # <-- dies here


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=30)
    table = expand(parser.parse_args().days)
    print("expanded to", table.shape)


if __name__ == "__main__":
    main()
