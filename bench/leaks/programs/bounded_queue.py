"""A thread that prepares batches faster than they are taken; the queue between them has a bound, and is full near the end."""

import queue
import sys
import threading
import time

import numpy as np

STEPS = int(sys.argv[1])


def produce(batches, finished):
    rng = np.random.default_rng(0)
    while not finished.is_set():
        batch = rng.random((64, 64, 64), dtype=np.float32)
        while not finished.is_set():
            try:
                batches.put(batch, timeout=0.1)
                break
            except queue.Full:
                continue
        time.sleep(0.01)


def main():
    batches, finished = queue.Queue(maxsize=150), threading.Event()
    producer = threading.Thread(target=produce, args=(batches, finished), daemon=True)
    producer.start()
    weights = np.zeros(64, np.float32)
    for step in range(STEPS):
        batch = batches.get()
        weights += batch.mean(axis=(0, 1))
        time.sleep(0.02)  # a slow model
        if step % 25 == 0:
            print("step", step, "weight", float(weights[0]), "waiting", batches.qsize(), flush=True)
    finished.set()
    producer.join()


main()
