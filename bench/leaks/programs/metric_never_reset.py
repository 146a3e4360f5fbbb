"""An own metric for a custom loop: it collects labels and scores of all batches, and nobody resets it."""

import sys

import numpy as np
import tensorflow as tf


class RankingQuality:
    """Mean rank of the true item."""

    def __init__(self):
        self.labels = []
        self.scores = []

    def update(self, labels, scores):
        self.labels.append(labels)
        self.scores.append(scores.numpy())  # <-- grows here

    def result(self, last=10):
        ranks = []
        for labels, scores in zip(self.labels[-last:], self.scores[-last:]):
            own = scores[np.arange(len(labels)), labels]
            ranks.append((scores > own[:, None]).sum(axis=1).mean())
        return float(np.mean(ranks))


class Recommender(tf.keras.Model):
    def __init__(self, users, items, width=32):
        super().__init__()
        self.users = tf.keras.layers.Embedding(users, width)
        self.items = tf.keras.layers.Dense(items)

    def call(self, inputs):
        return self.items(self.users(inputs))


@tf.function
def train_step(model, optimizer, users, items):
    with tf.GradientTape() as tape:
        scores = model(users)
        loss = tf.reduce_mean(tf.keras.losses.sparse_categorical_crossentropy(items, scores, from_logits=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss, scores


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model, optimizer, metric = Recommender(1_000, 2_000), tf.keras.optimizers.Adam(), RankingQuality()
    for step in range(int(sys.argv[1])):
        users, items = rng.integers(0, 1_000, 64), rng.integers(0, 2_000, 64)
        loss, scores = train_step(model, optimizer, tf.constant(users), tf.constant(items))
        metric.update(items, scores)
        if step % 50 == 49:
            print(step, float(loss), metric.result(), flush=True)
