# %%
import numpy as np

tokens = np.random.default_rng(0).integers(0, 30_000, 200_000)

# %%
%%time
vocabulary = np.eye(30_000, dtype=np.uint8)
encoded = vocabulary[tokens]  # <-- dies here
print(encoded.sum())
