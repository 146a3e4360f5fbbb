"""Sliding windows over one long series: the list of windows grows, but they are views of the same array; the last outputs are kept."""

import sys
import time
from collections import deque

import numpy as np

STEPS = int(sys.argv[1])


def main():
    rng = np.random.default_rng(0)
    series = rng.random(4_000_000)
    windows, outputs = [], deque(maxlen=20)
    for step in range(STEPS):
        window = series[step : step + 64]
        windows.append(window)
        outputs.append(np.outer(np.repeat(window, 4), np.repeat(window, 8)))
        time.sleep(0.01)
        if step % 40 == 0:
            print("step", step, "mean", float(outputs[-1].mean()), len(windows), flush=True)
    print(len(windows), "windows")


main()
