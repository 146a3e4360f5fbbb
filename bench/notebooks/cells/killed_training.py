# %%
import os
import pathlib

import numpy as np

weights = np.random.default_rng(0).random((400, 400))

# %%
def train(weights):
    pathlib.Path("pid").write_text(str(os.getpid()))
    while True:
        weights = np.tanh(weights @ weights.T)  # <-- dies here

# %%
train(weights)
