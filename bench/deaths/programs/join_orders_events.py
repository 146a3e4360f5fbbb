"""Join customer orders with click events to build a training table."""

import numpy as np
import pandas as pd

CUSTOMERS = 40


class TableBuilder:
    def __init__(self, n_orders, n_events):
        rng = np.random.default_rng(1)
        self.orders = pd.DataFrame(
            {"customer": rng.integers(0, CUSTOMERS, n_orders), "amount": rng.normal(50.0, 12.0, n_orders)}
        )
        self.events = pd.DataFrame(
            {"customer": rng.integers(0, CUSTOMERS, n_events), "clicks": rng.poisson(3.0, n_events)}
        )

    def joined(self):
        return self.orders.merge(self.events, on="customer", how="left")  # <-- dies here

    def totals(self):
        table = self.joined()
        return table.groupby("customer")[["amount", "clicks"]].sum()


def main():
    builder = TableBuilder(n_orders=60_000, n_events=60_000)
    print(len(builder.orders), "orders,", len(builder.events), "events")
    print(builder.totals().head())


if __name__ == "__main__":
    main()
