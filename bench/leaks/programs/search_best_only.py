"""A random search that keeps the best weights alone and clears the session after each trial; what `fit` has traced stays all the same."""

import gc
import random
import sys

import numpy as np
from tensorflow import keras


def make_model(units):
    layers = [keras.Input((200,)), keras.layers.Dense(units, activation="relu"), keras.layers.Dense(1)]  # <-- or here
    model = keras.Sequential(layers)  # <-- or here
    model.compile("adam", "mse")
    return model


random.seed(0)
rng = np.random.default_rng(0)
x, y = rng.random((256, 200)), rng.random(256)
best_score, best_weights = float("inf"), None
for trial in range(int(sys.argv[1])):
    model = make_model(random.choice([2000, 4000, 6000]))  # <-- or here
    model.fit(x, y, epochs=1, batch_size=64, verbose=0)  # <-- grows here
    score = model.evaluate(x, y, verbose=0)  # <-- or here
    if score < best_score:
        best_score, best_weights = score, model.get_weights()
    del model
    keras.backend.clear_session()
    gc.collect()
    print("trial", trial, round(score, 4), flush=True)
