"""A reader thread that fills an unbounded queue faster than the main thread empties it."""

import queue
import threading
import time

import numpy as np


class Reader(threading.Thread):
    def __init__(self, out):
        super().__init__(name="reader", daemon=True)
        self.out = out

    def run(self):
        rng = np.random.default_rng(0)
        while True:
            self.out.put(rng.random((64, 64, 64)))  # <-- dies here
            time.sleep(0.005)


def main():
    records = queue.Queue()
    Reader(records).start()
    total, step = 0.0, 0
    while step < 10_000:
        total += float(records.get().mean())
        time.sleep(0.2)  # <-- or here
        step += 1
        if step % 10 == 0:
            print("step", step, "waiting", records.qsize(), flush=True)


if __name__ == "__main__":
    main()
