"""Save a long linked list after raising the recursion limit."""

import pickle
import sys

sys.setrecursionlimit(10**6)


class Event:
    def __init__(self, number, following):
        self.number = number
        self.following = following


def build_log(length):
    event = None
    for number in range(length):
        event = Event(number, event)
    return event


def save(log):
    return pickle.dumps(log)  # <-- dies here


if __name__ == "__main__":
    print(len(save(build_log(200_000))), "bytes")
