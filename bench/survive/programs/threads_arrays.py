"""Four threads load their part of the data at once."""

import threading

import numpy as np

results, failures = {}, []


def load(part, blocks):
    try:
        results[part] = [np.full(1_000_000, part, np.float64) for _ in range(blocks)]
    except MemoryError as error:
        failures.append(type(error).__name__)


threads = [threading.Thread(target=load, args=(part, 30)) for part in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for name in sorted(set(failures)):
    print("refused", name)

results.clear()
load("again", 0)
load(9, 3)
print("ALIVE", int(sum(block.sum() for block in results[9])))
