"""A small segmentation network trained with the batch size of the paper."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

SIDE = 128
BATCH = 256


def build_model():
    inputs = tf.keras.Input((SIDE, SIDE, 3))
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(inputs)
    x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
    outputs = layers.Conv2D(1, 1, activation="sigmoid")(x)
    model = tf.keras.Model(inputs, outputs)
    model.compile(optimizer="adam", loss="binary_crossentropy")
    return model


def synthetic_data(count):
    rng = np.random.default_rng(0)
    images = rng.random((count, SIDE, SIDE, 3), dtype=np.float32)
    masks = (images.mean(axis=-1, keepdims=True) > 0.5).astype(np.float32)
    return images, masks


def train():
    model = build_model()
    images, masks = synthetic_data(BATCH)
    model.fit(images, masks, batch_size=BATCH, epochs=2)  # <-- dies here
    return model


if __name__ == "__main__":
    train().save("segmentation.keras")
