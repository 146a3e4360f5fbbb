"""Patches cut from large scans for a later inspection: each small patch is a view that keeps its whole scan."""

import sys

import numpy as np
import tensorflow as tf

SCANS = int(sys.argv[1])
rng = np.random.default_rng(7)
model = tf.keras.Sequential(
    [
        tf.keras.Input((32, 32, 1)),
        tf.keras.layers.Conv2D(8, 3, activation="relu"),
        tf.keras.layers.GlobalMaxPooling2D(),
        tf.keras.layers.Dense(1),
    ]
)
model.compile("adam", "mse")


def load_scan():
    return rng.random((600, 600), dtype=np.float32)


def patches(scan, size=32, count=16):
    corners = rng.integers(0, 600 - size, (count, 2))
    return [scan[top : top + size, left : left + size] for top, left in corners]


suspicious = []
for number in range(SCANS):
    found = patches(load_scan())
    batch = np.stack(found)[..., None]
    model.train_on_batch(batch, batch.mean(axis=(1, 2)))
    scores = [patch.max() for patch in found]
    suspicious.append(found[int(np.argmax(scores))])  # <-- grows here
    if number % 40 == 0:
        print("scan", number, "brightest", float(max(scores)), flush=True)
print(len(suspicious), "patches of", sum(patch.nbytes for patch in suspicious) // 1024, "KiB")
