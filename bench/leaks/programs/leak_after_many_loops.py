"""Thirty short loops that get things ready, each of them another one, then the training, which keeps its activations."""

import sys
import time

import numpy as np

STEPS = int(sys.argv[1])
rng = np.random.default_rng(0)


def prepare():
    tables = {}
    for part in range(2):
        tables["words", part] = rng.random(8)
    for part in range(2):
        tables["tags", part] = rng.random(9)
    for part in range(2):
        tables["users", part] = rng.random(10)
    for part in range(2):
        tables["items", part] = rng.random(11)
    for part in range(2):
        tables["shops", part] = rng.random(12)
    for part in range(2):
        tables["days", part] = rng.random(13)
    for part in range(2):
        tables["hours", part] = rng.random(14)
    for part in range(2):
        tables["cities", part] = rng.random(15)
    for part in range(2):
        tables["pages", part] = rng.random(16)
    for part in range(2):
        tables["terms", part] = rng.random(17)
    for part in range(2):
        tables["words_pairs", part] = rng.random(18)
    for part in range(2):
        tables["tags_pairs", part] = rng.random(19)
    for part in range(2):
        tables["users_pairs", part] = rng.random(20)
    for part in range(2):
        tables["items_pairs", part] = rng.random(21)
    for part in range(2):
        tables["shops_pairs", part] = rng.random(22)
    for part in range(2):
        tables["days_pairs", part] = rng.random(23)
    for part in range(2):
        tables["hours_pairs", part] = rng.random(24)
    for part in range(2):
        tables["cities_pairs", part] = rng.random(25)
    for part in range(2):
        tables["pages_pairs", part] = rng.random(26)
    for part in range(2):
        tables["terms_pairs", part] = rng.random(27)
    for part in range(2):
        tables["words_weights", part] = rng.random(28)
    for part in range(2):
        tables["tags_weights", part] = rng.random(29)
    for part in range(2):
        tables["users_weights", part] = rng.random(30)
    for part in range(2):
        tables["items_weights", part] = rng.random(31)
    for part in range(2):
        tables["shops_weights", part] = rng.random(32)
    for part in range(2):
        tables["days_weights", part] = rng.random(33)
    for part in range(2):
        tables["hours_weights", part] = rng.random(34)
    for part in range(2):
        tables["cities_weights", part] = rng.random(35)
    for part in range(2):
        tables["pages_weights", part] = rng.random(36)
    for part in range(2):
        tables["terms_weights", part] = rng.random(37)
    return tables


def train(tables):
    weights, activations = np.zeros((256, 256), np.float32), []
    for step in range(STEPS):
        batch = rng.random((512, 256), dtype=np.float32)
        hidden = np.maximum(batch @ weights + 0.1, 0)
        activations.append(hidden)  # <-- grows here
        weights -= 1e-4 * (batch.T @ (hidden - batch))
        time.sleep(0.01)
        if step % 25 == 0:
            print("step", step, "loss", float(np.square(hidden - batch).mean()), len(tables), flush=True)


train(prepare())
