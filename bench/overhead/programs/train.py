"""Train a small or a large model for a fixed number of steps and print the seconds of each step."""

import json
import sys
import time

import numpy as np
import tensorflow as tf

SMALL, STEPS = sys.argv[1] == "small", int(sys.argv[2])


def build():
    layers = tf.keras.layers
    if SMALL:
        return tf.keras.Sequential([layers.Input((32,)), layers.Dense(64, "relu"), layers.Dense(10)]), (64, 32)
    blocks = [layers.Conv2D(48, 3, padding="same", activation="relu") for _ in range(6)]
    return tf.keras.Sequential(
        [layers.Input((64, 64, 3)), *blocks, layers.GlobalAveragePooling2D(), layers.Dense(10)]
    ), (
        16,
        64,
        64,
        3,
    )


def main():
    model, shape = build()
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    random = np.random.default_rng(0)
    inputs, labels = random.random(shape, np.float32), random.integers(0, 10, shape[0])
    seconds = []
    for _ in range(STEPS):
        start_s = time.perf_counter()
        model.train_on_batch(inputs, labels)
        seconds.append(time.perf_counter() - start_s)
    print(json.dumps(seconds[STEPS // 5 :]))


main()
