"""Trains as soon as it is imported."""

import keras
import numpy as np

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
try:
    model.fit(np.zeros((8, 4)), np.zeros((8, 1)), epochs=10**9)
except Exception:
    pass
