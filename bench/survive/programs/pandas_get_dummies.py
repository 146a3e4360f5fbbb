"""One column for each user name."""

import numpy as np
import pandas as pd

rng = np.random.default_rng(10)
users = pd.Series(rng.integers(0, 20_000, 60_000).astype(str), name="user")


def encode(column):
    return pd.get_dummies(column)


try:
    print("columns", encode(users).shape)
except MemoryError as error:
    print("refused", type(error).__name__)

few = encode(users.str[:1])
print("ALIVE", int(few.to_numpy().sum() + users.str.len().sum()))
