# %%
import numpy as np
import pandas as pd

# %%
rng = np.random.default_rng(1)
orders = pd.DataFrame({"customer": rng.integers(0, 40, 60_000), "amount": rng.normal(50.0, 12.0, 60_000)})
events = pd.DataFrame({"customer": rng.integers(0, 40, 60_000), "clicks": rng.poisson(3.0, 60_000)})
len(orders), len(events)

# %%
joined = orders.merge(events, on="customer", how="left")  # <-- dies here
joined.groupby("customer")[["amount", "clicks"]].sum()
