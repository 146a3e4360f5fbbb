"""A long preparation that is sound, then a loop that keeps what it made of every request."""

import sys
import time

import numpy as np

REQUESTS = int(sys.argv[1])
rng = np.random.default_rng(0)


def calibrate(rounds=400):
    scale = np.ones(256, np.float32)
    for _ in range(rounds):
        sample = rng.random((512, 256), dtype=np.float32)
        scale = 0.9 * scale + 0.1 * sample.mean(axis=0)
        time.sleep(0.01)
    return scale


def serve(scale):
    answers = {}
    for number in range(REQUESTS):
        scores = rng.random((512, 256), dtype=np.float32) * scale
        answers[f"request {number}"] = scores  # <-- grows here
        time.sleep(0.01)
        if number % 25 == 0:
            print("request", number, "best", float(scores.max()), flush=True)


serve(calibrate())
