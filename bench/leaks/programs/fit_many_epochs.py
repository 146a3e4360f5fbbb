"""model.fit over many short epochs with the usual callbacks; its History grows by a few numbers an epoch."""

import sys
import tempfile

import numpy as np
from tensorflow import keras

rng = np.random.default_rng(0)
x, y = rng.random((640, 40), dtype=np.float32), rng.integers(0, 5, 640)
model = keras.Sequential(
    [
        keras.Input((40,)),
        keras.layers.Dense(256, activation="relu"),
        keras.layers.Dropout(0.3),
        keras.layers.Dense(5, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
callbacks = [
    keras.callbacks.EarlyStopping(monitor="loss", patience=1000, restore_best_weights=True),
    keras.callbacks.ReduceLROnPlateau(monitor="loss", patience=5),
    keras.callbacks.ModelCheckpoint(
        tempfile.mkdtemp() + "/best.weights.h5", monitor="loss", save_best_only=True, save_weights_only=True
    ),
    keras.callbacks.CSVLogger(tempfile.mkdtemp() + "/log.csv"),
]
history = model.fit(x, y, batch_size=64, epochs=int(sys.argv[1]), validation_split=0.2, verbose=2, callbacks=callbacks)
print(max(history.history["val_accuracy"]))
