"""A program that starts itself anew with another argument, several times, in the same process."""

import os
import sys

import numpy as np

turn = int(sys.argv[1]) if len(sys.argv) > 1 else 0
block = np.full(10 * 2**20, turn)
print("turn", turn, int(block.sum()), flush=True)
if turn < 4:
    os.execv(sys.executable, [sys.executable, __file__, str(turn + 1)])
