"""Join orders with visits on a key that is not unique."""

import numpy as np
import pandas as pd

orders = pd.DataFrame({"shop": np.zeros(8_000, np.int64), "price": np.arange(8_000)})
visits = pd.DataFrame({"shop": np.zeros(6_000, np.int64), "minutes": np.arange(6_000)})


def join(left, right):
    return left.merge(right, on="shop")


try:
    print("joined", len(join(orders, visits)))
except MemoryError as error:
    print("refused", type(error).__name__)

small = join(orders.head(500), visits.head(500))
print("ALIVE", int(small["price"].sum() + visits["minutes"].sum()))
