"""A server loop in plain NumPy that remembers each request's scores in a module's dictionary."""

import sys
import time

import numpy as np

SCORES = {}


class Ranker:
    def __init__(self, items=30_000, width=24):
        self.items = np.random.default_rng(0).normal(size=(items, width)).astype(np.float32)

    def rank(self, request_id, query):
        scores = self.items @ query
        SCORES[request_id] = scores  # <-- grows here
        return np.argpartition(scores, -10)[-10:]


def serve(requests):
    ranker, rng = Ranker(), np.random.default_rng(1)
    for number in range(requests):
        best = ranker.rank(f"{number:08x}", rng.normal(size=24).astype(np.float32))
        time.sleep(0.005)
        if number % 100 == 0:
            print("request", number, "best", sorted(best.tolist())[:3], flush=True)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
