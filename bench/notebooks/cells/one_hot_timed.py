# %%
import numpy as np

tokens = np.random.default_rng(0).integers(0, 20_000, 100_000)

# %%
%%time
vocabulary = np.eye(20_000, dtype=np.uint8)
encoded = vocabulary[tokens]  # <-- dies here
print(encoded.sum())
