"""One long computation."""

import numpy as np

matrix = np.random.default_rng(0).random((1_500, 1_500))
print(np.linalg.svd(matrix, compute_uv=False)[:3])
