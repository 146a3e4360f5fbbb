"""A feature that was renamed upstream."""

import numpy as np
import pandas as pd


class Features:
    def __init__(self, table):
        self.table = table

    def ratio(self, numerator, denominator):
        return self.table[numerator] / self.table[denominator]  # <-- dies here


def main():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"revenue": rng.random(10), "n_orders": rng.integers(1, 5, 10)})
    print(Features(table).ratio("revenue", "orders").mean())


if __name__ == "__main__":
    main()
