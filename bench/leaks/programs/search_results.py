"""A random search that stores each trial's model beside its score, to pick the best one in the end."""

import random
import sys

import numpy as np
from tensorflow import keras


def make_model(units, learning_rate):
    model = keras.Sequential([keras.Input((200,)), keras.layers.Dense(units, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.Adam(learning_rate), loss="mse")
    return model


def random_search(x, y, trials):
    results = []
    for trial in range(trials):
        units = random.choice([4000, 5000, 6000])
        learning_rate = 10 ** random.uniform(-4, -2)
        model = make_model(units, learning_rate)
        model.fit(x, y, epochs=1, batch_size=64, verbose=0)
        score = model.evaluate(x, y, verbose=0)
        results.append({"units": units, "lr": learning_rate, "score": score, "model": model})  # <-- grows here
        print(f"trial {trial}: {units} units, lr {learning_rate:.5f}: {score:.4f}", flush=True)
    return min(results, key=lambda result: result["score"])


if __name__ == "__main__":
    random.seed(0)
    rng = np.random.default_rng(0)
    best = random_search(rng.random((256, 200)), rng.random(256), int(sys.argv[1]))
    print("best:", best["units"], best["lr"])
