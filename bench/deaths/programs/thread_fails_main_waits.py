"""A prefetch thread dies of an exception and the training loop waits for it for ever."""

import queue
import threading

import numpy as np


def prefetch(paths, out):
    sizes = {"a.npy": 10, "b.npy": 20}
    for path in paths:
        out.put(np.zeros(sizes[path]))  # <-- dies here


def train(steps, batches):
    total = 0
    for step in range(steps):
        batch = batches.get()  # <-- or here
        total += len(batch)
        print("step", step, total, flush=True)


def main():
    batches = queue.Queue(maxsize=2)
    threading.Thread(target=prefetch, args=(["a.npy", "b.npy", "c.npy"], batches), daemon=True).start()
    train(3, batches)


if __name__ == "__main__":
    main()
