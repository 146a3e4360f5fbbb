"""One array that takes nearly all memory there is, as planned."""

import sys

import numpy as np
from memory import held_mb

planned_mb = int(sys.argv[1])
block = np.ones((planned_mb - held_mb()) * 2**20, np.uint8)
assert int(block.sum()) == len(block)
print("filled", abs(held_mb() - planned_mb) < 10)
