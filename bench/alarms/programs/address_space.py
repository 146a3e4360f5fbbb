"""A program under `ulimit -v`: address space is scarce, memory is not."""

import resource
import threading

import numpy as np

blocks = [np.full(2**20, number) for number in range(20)]
thread = threading.Thread(target=lambda: blocks.append(np.ones(2**20)))
thread.start()
thread.join()
print("limit", resource.getrlimit(resource.RLIMIT_AS)[0], int(sum(block.sum() for block in blocks)))
