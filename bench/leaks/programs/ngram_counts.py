"""Counts of word trigrams, gathered while a bag-of-words model is trained: the table knows no rare ones to forget."""

import sys
from collections import Counter

import numpy as np
import tensorflow as tf

counts = Counter()
rng = np.random.default_rng(0)
words = np.array([f"word{n}" for n in range(30_000)])


def count_trigrams(tokens):
    for start in range(len(tokens) - 2):
        counts[" ".join(tokens[start : start + 3])] += 1  # <-- grows here


def vectorize(documents):
    rows = np.zeros((len(documents), 1024), np.float32)
    for row, tokens in enumerate(documents):
        for token in tokens:
            rows[row, hash(token) % 1024] += 1
    return rows


model = tf.keras.Sequential([tf.keras.Input((1024,)), tf.keras.layers.Dense(1, activation="sigmoid")])
model.compile("adam", "binary_crossentropy")
for step in range(int(sys.argv[1])):
    documents = [words[rng.integers(0, len(words), 120)].tolist() for _ in range(16)]
    for tokens in documents:
        count_trigrams(tokens)
    loss = model.train_on_batch(vectorize(documents), rng.integers(0, 2, (16, 1)))
    if step % 50 == 0:
        print("step", step, "loss", float(loss), "trigrams", len(counts), flush=True)
