"""A log of all predictions in one data frame that is concatenated with each batch."""

import sys

import numpy as np
import pandas as pd
from tensorflow import keras

batches = int(sys.argv[1])
rng = np.random.default_rng(5)
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(40)])
model.compile("adam", "mse")

log = pd.DataFrame()
for batch in range(batches):
    x, y = rng.random((400, 16)), rng.random((400, 40))
    loss = model.train_on_batch(x, y)
    predicted = pd.DataFrame(model.predict_on_batch(x), columns=[f"output_{n}" for n in range(40)])
    predicted["batch"], predicted["loss"] = batch, float(loss)
    predicted["name"] = [f"sample-{batch}-{row}" for row in range(len(predicted))]
    log = pd.concat([log, predicted], ignore_index=True)  # <-- grows here
    if batch % 50 == 0:
        print(batch, float(loss), len(log), "rows", flush=True)
log.describe()
