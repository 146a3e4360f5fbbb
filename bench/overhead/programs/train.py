"""Train a small or a large model: a block of steps for each line on stdin, answered by the block's seconds on stdout."""

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from bench.blocks import serve

SMALL, STEPS = sys.argv[1] == "small", int(sys.argv[2])


def build():
    layers = tf.keras.layers
    if SMALL:
        return tf.keras.Sequential([layers.Input((32,)), layers.Dense(64, "relu"), layers.Dense(10)]), (64, 32)
    blocks = [layers.Conv2D(48, 3, padding="same", activation="relu") for _ in range(6)]
    head = [layers.GlobalAveragePooling2D(), layers.Dense(10)]
    return tf.keras.Sequential([layers.Input((64, 64, 3)), *blocks, *head]), (16, 64, 64, 3)


def main():
    model, shape = build()
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    random = np.random.default_rng(0)
    inputs, labels = random.random(shape, np.float32), random.integers(0, 10, shape[0])
    for _ in range(3):
        model.train_on_batch(inputs, labels)
    serve(lambda: [model.train_on_batch(inputs, labels) for _ in range(STEPS)])


main()
