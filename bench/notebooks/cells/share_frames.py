# %%
from multiprocessing import shared_memory

import numpy as np

FRAMES, HEIGHT, WIDTH = 64, 720, 1_280
block = shared_memory.SharedMemory(create=True, size=FRAMES * HEIGHT * WIDTH)
frames = np.ndarray((FRAMES, HEIGHT, WIDTH), np.uint8, buffer=block.buf)

# %%
rng = np.random.default_rng(0)
for number in range(FRAMES):
    frames[number] = rng.integers(0, 256, (HEIGHT, WIDTH), dtype=np.uint8)  # <-- dies here
