"""Each epoch concatenates its batches into a data frame, aggregates it, and keeps the small result only."""

import sys

import numpy as np
import pandas as pd
from tensorflow import keras

rng = np.random.default_rng(0)
model = keras.Sequential([keras.Input((30,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(20)])
model.compile("adam", "mse")
summary = []
for epoch in range(int(sys.argv[1])):
    frame = pd.DataFrame()
    for _ in range(12):
        x = rng.random((500, 30))
        model.train_on_batch(x, x[:, :20])
        part = pd.DataFrame(model.predict_on_batch(x)).assign(group=rng.integers(0, 8, 500))
        frame = pd.concat([frame, part], ignore_index=True)
    summary.append(frame.groupby("group").mean().to_numpy().mean())
    print("epoch", epoch, summary[-1], flush=True)
