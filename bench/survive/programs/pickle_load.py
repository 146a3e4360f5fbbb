"""Load a cache of results from the last run."""

import pickle

expected = {"runs": 3}


def load(path):
    with open(path, "rb") as file:
        return pickle.load(file)


try:
    print("results", len(load("results.pickle")))
except MemoryError as error:
    print("refused", type(error).__name__)

sample = pickle.loads(pickle.dumps([(number, str(number)) for number in range(50_000)]))
print("ALIVE", sum(number for number, _ in sample) + expected["runs"])
