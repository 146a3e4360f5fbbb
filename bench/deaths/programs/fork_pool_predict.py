"""Predict in a multiprocessing pool after the model was trained in the parent."""

import multiprocessing

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


def build():
    model = tf.keras.Sequential([tf.keras.Input((16,)), layers.Dense(64, activation="relu"), layers.Dense(1)])
    model.compile("adam", "mse")
    return model


def predict(chunk):
    return MODEL.predict(chunk, verbose=0).mean()  # <-- dies here


def main():
    chunks = np.split(np.random.default_rng(1).random((400, 16), dtype=np.float32), 4)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(predict, chunks))  # <-- or here


if __name__ == "__main__":
    MODEL = build()
    rng = np.random.default_rng(0)
    MODEL.fit(rng.random((512, 16)), rng.random(512), epochs=2, verbose=2)
    main()
