"""Computes spectral features and remembers them."""

import functools

import numpy as np


@functools.lru_cache(maxsize=None)
def spectrum(window_number):
    signal = np.random.default_rng(window_number).normal(size=65_536)  # <-- or here
    return np.abs(np.fft.fft(signal))  # <-- dies here


def serve(requests):
    for number in range(requests):
        peak = spectrum(number).max()  # <-- or here
        if number % 200 == 0:
            print("request", number, "peak", round(float(peak), 1), flush=True)
