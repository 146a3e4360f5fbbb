"""Evaluate a model with a metric that was never imported."""

import numpy as np
import tensorflow as tf


def evaluate(model, x, y):
    predicted = model.predict(x, verbose=0).ravel()
    return {"mae": float(np.abs(predicted - y).mean()), "r2": r2_score(y, predicted)}  # noqa: F821  # <-- dies here


def main():
    rng = np.random.default_rng(0)
    x, y = rng.random((50, 3)), rng.random(50)
    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1)])
    print(evaluate(model, x, y))


if __name__ == "__main__":
    main()
