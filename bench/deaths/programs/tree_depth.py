"""Grow a decision tree without a stopping rule that holds."""

import numpy as np


class Node:
    def __init__(self, rows):
        self.rows = rows
        self.left = None

    def split(self):
        mean = self.rows.mean()
        below = self.rows[self.rows <= mean]  # <-- or here
        self.left = Node(below)
        self.left.split()  # <-- dies here


def main():
    root = Node(np.ones(16))
    root.split()


if __name__ == "__main__":
    main()
