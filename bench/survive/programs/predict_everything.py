"""Upsample every image of a data set in one call of predict."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

images = (np.arange(500 * 64 * 64) % 17).reshape(500, 64, 64, 1).astype(np.float32)
model = tf.keras.Sequential(
    [layers.Input((64, 64, 1)), layers.UpSampling2D(8), layers.Conv2D(2, 1, kernel_initializer="ones")]
)


def upsample(some):
    return model.predict(some, batch_size=20, verbose=0)


try:
    print("upsampled", upsample(images).shape)
except (MemoryError, tf.errors.ResourceExhaustedError) as error:
    print("refused", type(error).__name__)

few = upsample(images[:4])
assert few[0, :, :, 0].sum() == images[0].sum() * 64
print("ALIVE", int(few[0, :, :, 1].sum()) + int(images[:10].sum()))
