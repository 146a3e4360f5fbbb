# %%
import resource

import numpy as np

grid = np.zeros((800, 800))
grid[0] = 1.0
spent_s = resource.getrusage(resource.RUSAGE_SELF).ru_utime
resource.setrlimit(resource.RLIMIT_CPU, (int(spent_s) + 3, resource.RLIM_INFINITY))

# %%
for sweep in range(200_000):
    grid[1:-1, 1:-1] = 0.25 * (grid[2:, 1:-1] + grid[:-2, 1:-1] + grid[1:-1, 2:] + grid[1:-1, :-2])  # <-- dies here
