"""Twenty times up to nearly all memory, and back."""

import sys
import time

import numpy as np
from memory import held_mb

planned_mb = int(sys.argv[1])
for _ in range(20):
    blocks = [np.ones(8 * 2**20, np.uint8) for _ in range((planned_mb - held_mb()) // 8)]
    assert all(block[-1] == 1 for block in blocks)
    del blocks
    time.sleep(0.05)
print("twenty spikes", held_mb() < planned_mb // 2)
