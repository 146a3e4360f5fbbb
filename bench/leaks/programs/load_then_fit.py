"""Images read one by one into a list, stacked into one array, then a short training: the list grows, and that is its end."""

import sys
import time

import numpy as np
from tensorflow import keras

EPOCHS = int(sys.argv[1])
rng = np.random.default_rng(0)


def read_image(number):
    time.sleep(0.01)  # a slow disk
    return rng.integers(0, 256, (96, 96, 3), dtype=np.uint8), number % 10


def load(count):
    images, labels = [], []
    for number in range(count):
        image, label = read_image(number)
        images.append(image.astype(np.float32) / 255)
        labels.append(label)
    return np.stack(images), np.array(labels)


class Tell(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch % 10 == 0:
            print("batch", batch, "loss", logs["loss"], flush=True)


images, labels = load(400)
model = keras.Sequential(
    [
        keras.Input((96, 96, 3)),
        keras.layers.Conv2D(8, 5, strides=4, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(images, labels, batch_size=8, epochs=EPOCHS, verbose=0, callbacks=[Tell()])
