"""Features of each batch written into an array that was made for all of them: its pages become resident one by one."""

import sys
import time

import numpy as np

STEPS = int(sys.argv[1])
ROOM = 420  # batches


def extract(rng):
    images = rng.random((64, 32, 32), dtype=np.float32)
    return np.fft.rfft2(images).real.astype(np.float32).reshape(64, -1)


def main():
    rng = np.random.default_rng(0)
    features = np.zeros((ROOM * 64, 32 * 17), np.float32)
    for step in range(STEPS):
        row = step % ROOM * 64
        features[row : row + 64] = extract(rng)
        time.sleep(0.01)
        if step % 40 == 0:
            print("step", step, "mean", float(features[row].mean()), flush=True)


main()
