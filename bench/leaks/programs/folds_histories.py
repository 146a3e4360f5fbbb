"""Repeated cross-validation that keeps each fit's History, and with it each fold's model."""

import sys

import numpy as np
import tensorflow as tf


class CrossValidation:
    def __init__(self, x, y, folds):
        self.x, self.y, self.folds = x, y, folds
        self.histories = []

    def build(self):
        inputs = tf.keras.Input((300,))
        hidden = tf.keras.layers.Dense(3000, activation="relu")(inputs)
        model = tf.keras.Model(inputs, tf.keras.layers.Dense(1, activation="sigmoid")(hidden))
        model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
        return model

    def run(self):
        parts = np.array_split(np.arange(len(self.x)), self.folds)
        for fold, held_out in enumerate(parts):
            chosen = np.setdiff1d(np.arange(len(self.x)), held_out)
            model = self.build()
            fitted = model.fit(self.x[chosen], self.y[chosen], batch_size=128, epochs=1, verbose=0)  # <-- or here
            self.histories.append(fitted)  # <-- grows here
            print("fold", fold, "accuracy", fitted.history["accuracy"][-1], flush=True)


rng = np.random.default_rng(0)
validation = CrossValidation(rng.random((400, 300), dtype=np.float32), rng.integers(0, 2, 400), folds=int(sys.argv[1]))
validation.run()
scores = [each.history["accuracy"][-1] for each in validation.histories]
print(f"{np.mean(scores):.3f} ± {np.std(scores):.3f}")
