"""Cells of a notebook about tables."""

# %%
import numpy as np
import pandas as pd

orders = pd.DataFrame({"shop": np.arange(400_000) % 40, "price": np.arange(400_000) % 997})
# %%
pairs = orders.merge(orders.head(6_000), on="shop")
# %%
wide = pd.get_dummies(orders["price"]).astype("float64")
# %%
pairs = wide = None
by_shop = orders.groupby("shop")["price"].sum()
print("ALIVE", int(by_shop.max()), len(orders))
