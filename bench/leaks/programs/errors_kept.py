"""Records that fail to parse are counted by their exceptions; each traceback keeps the frame with the raw record."""

import json
import sys

import numpy as np
import tensorflow as tf


class Loader:
    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        self.failed = []

    def read(self):
        raw = self.rng.bytes(300_000).hex()
        good = self.rng.random() > 0.5
        return json.dumps({"values": self.rng.random(64).tolist(), "raw": raw}) if good else raw

    def parse(self, text):
        record = json.loads(text)
        return np.array(record["values"], np.float32)

    def batch(self, size):
        rows = []
        while len(rows) < size:
            text = self.read()
            try:
                rows.append(self.parse(text))
            except ValueError as error:
                self.failed.append(error)  # <-- grows here
        return np.stack(rows)


loader = Loader()
model = tf.keras.Sequential(
    [tf.keras.Input((64,)), tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(1)]
)
model.compile("adam", "mse")
for step in range(int(sys.argv[1])):
    x = loader.batch(2)
    loss = model.train_on_batch(x, x.sum(axis=1))
    if step % 40 == 0:
        print("step", step, "loss", float(loss), "failed", len(loader.failed), flush=True)
