"""Wait for a worker that never puts its last result."""

import queue
import threading

import numpy as np


class Worker(threading.Thread):
    def __init__(self, jobs, results):
        super().__init__(daemon=True)
        self.jobs = jobs
        self.results = results

    def run(self):
        while True:
            job = self.jobs.get()
            if job % 5:
                self.results.put(np.sqrt(job))


def collect(results, count):
    return [results.get() for _ in range(count)]  # <-- dies here


def main():
    jobs, results = queue.Queue(), queue.Queue()
    Worker(jobs, results).start()
    for job in range(1, 11):
        jobs.put(job)
    print(collect(results, count=10))


if __name__ == "__main__":
    main()
