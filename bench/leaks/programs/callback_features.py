"""model.fit with a callback that stores the embedding of a probe set after every batch, to animate it later."""

import sys

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


class EmbeddingRecorder(keras.callbacks.Callback):
    def __init__(self, probe):
        super().__init__()
        self.probe = probe
        self.features = []

    def on_train_batch_end(self, batch, logs=None):
        encoder = self.model.get_layer("encoder")
        self.features.append(encoder(self.probe))  # <-- grows here


epochs = int(sys.argv[1])
rng = np.random.default_rng(1)
x_train = rng.normal(size=(1280, 64)).astype("float32")
y_train = rng.integers(0, 10, size=1280)

model = keras.Sequential(
    [keras.Input((64,)), layers.Dense(128, activation="relu", name="encoder"), layers.Dense(10, activation="softmax")]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
recorder = EmbeddingRecorder(tf.constant(x_train[:500]))
model.fit(x_train, y_train, batch_size=64, epochs=epochs, verbose=2, callbacks=[recorder])
print("frames:", len(recorder.features))
