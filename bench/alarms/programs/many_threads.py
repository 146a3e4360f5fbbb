"""Two hundred threads that are there at once."""

import threading
import time

import numpy as np

barrier, sums = threading.Barrier(200), []


def work(number):
    barrier.wait()
    block = np.full(50_000, number)
    time.sleep(0.2)
    sums.append(int(block.sum()))


threads = [threading.Thread(target=work, args=(number,)) for number in range(200)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("threads", len(sums), sum(sums))
