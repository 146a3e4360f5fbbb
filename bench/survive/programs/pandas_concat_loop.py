"""Put each day's rows behind those of the days before."""

import numpy as np
import pandas as pd

DAY = pd.DataFrame({name: np.arange(200_000) for name in ("user", "item", "price", "count")})


def history(days):
    total = DAY.copy()
    for _ in range(days - 1):
        total = pd.concat([total, DAY], ignore_index=True)
    return total


try:
    print("rows", len(history(120)))
except MemoryError as error:
    print("refused", type(error).__name__)

week = history(7)
print("ALIVE", int(week["price"].sum() + len(week)))
