"""A program that runs with another library preloaded, one that counts allocations."""

import ctypes
import subprocess

import numpy as np

counter = ctypes.CDLL(None)
before = counter.counted_allocations()
blocks = [np.ones(100_000) for _ in range(200)]
counted = counter.counted_allocations() - before >= 200
child = subprocess.run(["grep", "-c", "libcount", "/proc/self/maps"], capture_output=True, text=True)
print("counted", counted, len(blocks), "child has it", int(child.stdout) > 0)
