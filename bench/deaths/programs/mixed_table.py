"""Fit on a table with one text column left in it."""

import numpy as np
import pandas as pd
import tensorflow as tf


def load_table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "area": rng.normal(90.0, 20.0, 200),
            "rooms": rng.integers(1, 6, 200).astype(object),
            "heating": [["gas", "oil"][number % 2] for number in range(200)],
            "price": rng.normal(300.0, 50.0, 200),
        }
    )


def train(table):
    x = table.drop(columns="price").to_numpy()
    y = table["price"].to_numpy()
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    return model.fit(x, y, epochs=2, verbose=0)  # <-- dies here


if __name__ == "__main__":
    train(load_table())
