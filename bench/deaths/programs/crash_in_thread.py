"""A telemetry thread reads a C structure that was released long ago, while the main thread trains."""

import ctypes
import threading
import time

import numpy as np


class Telemetry(threading.Thread):
    def __init__(self, address):
        super().__init__(name="telemetry", daemon=True)
        self.address = address

    def read(self):
        return ctypes.c_double.from_address(self.address).value  # <-- dies here

    def run(self):
        time.sleep(1.0)
        print("temperature", self.read(), flush=True)


def train(steps):
    weights = np.random.default_rng(0).random((400, 400))
    for _ in range(steps):
        weights = np.tanh(weights @ weights.T)
    return weights


if __name__ == "__main__":
    Telemetry(address=0x10).start()
    print(train(steps=5_000).mean())
