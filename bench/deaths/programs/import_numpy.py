"""Mean of a random walk."""

import numpy as np  # <-- dies here

if __name__ == "__main__":
    print(np.random.default_rng(0).normal(size=1_000).cumsum().mean())
