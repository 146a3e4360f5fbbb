# %%
import ctypes
import threading
import time

import numpy as np

# %%
def read_temperature(address):
    return ctypes.c_double.from_address(address).value  # <-- dies here

def telemetry():
    time.sleep(1.0)
    print("temperature", read_temperature(0x10))

# %%
threading.Thread(target=telemetry, daemon=True).start()

# %%
weights = np.random.default_rng(0).random((400, 400))
for step in range(20_000):
    weights = np.tanh(weights @ weights.T)
