"""Decode a folder of photographs into one float array."""

from pathlib import Path

import numpy as np
import tensorflow as tf

folder = Path("photos")
folder.mkdir()
for number in range(6):
    pixels = tf.cast(tf.fill((600, 800, 3), number * 20), tf.uint8)
    (folder / f"{number}.png").write_bytes(tf.io.encode_png(pixels).numpy())


def load(paths):
    photos = []
    for path in paths:
        photo = tf.io.decode_png(path.read_bytes(), channels=3)
        photos.append(photo.numpy() / np.float32(255))
    return np.stack(photos)


paths = sorted(folder.glob("*.png"))
try:
    print("photos", load(paths * 45).shape)
except (MemoryError, tf.errors.ResourceExhaustedError) as error:
    print("refused", type(error).__name__)

print("ALIVE", round(float(load(paths)[:, 0, 0, 0].sum() * 255)))
