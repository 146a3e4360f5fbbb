"""Keras metrics in a custom loop, and an own one that gathers an epoch's scores, all reset after each epoch."""

import sys

import numpy as np
import tensorflow as tf


class MedianScore:
    def __init__(self):
        self.reset()

    def reset(self):
        self.scores = []

    def update(self, scores):
        self.scores.append(scores)

    def result(self):
        return float(np.median(np.concatenate(self.scores)))


auc, mean_loss, median = tf.keras.metrics.AUC(num_thresholds=2_000), tf.keras.metrics.Mean(), MedianScore()
model = tf.keras.Sequential(
    [
        tf.keras.Input((80,)),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dense(1, activation="sigmoid"),
    ]
)
optimizer = tf.keras.optimizers.Adam()
rng = np.random.default_rng(0)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        scores = model(x)
        loss = tf.reduce_mean(tf.keras.losses.binary_crossentropy(y, scores))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    mean_loss.update_state(loss)
    return scores


for epoch in range(int(sys.argv[1])):
    for _ in range(60):
        x, y = rng.random((2_000, 80), dtype=np.float32), rng.integers(0, 2, (2_000, 1)).astype(np.float32)
        scores = step(tf.constant(x), tf.constant(y))
        auc.update_state(y, scores)
        median.update(scores.numpy())
    print("epoch", epoch, float(mean_loss.result()), float(auc.result()), median.result(), flush=True)
    for metric in (auc, mean_loss):
        metric.reset_state()
    median.reset()
