"""Batch images of different sizes."""

import os
import pathlib
import tempfile

import numpy as np
import tensorflow as tf

WORK = pathlib.Path(os.environ.get("CRASHCART_BENCH_TMP") or tempfile.mkdtemp())
SIZES = ((40, 40), (40, 40), (32, 48), (40, 40))


def write_images():
    rng = np.random.default_rng(0)
    for number, (height, width) in enumerate(SIZES):
        pixels = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
        (WORK / f"photo-{number}.png").write_bytes(tf.io.encode_png(pixels).numpy())


def load(path):
    return tf.io.decode_png(tf.io.read_file(path), channels=3)


def main():
    write_images()
    photos = tf.data.Dataset.list_files(str(WORK / "photo-*.png"), shuffle=False).map(load).batch(4)
    for batch in photos:  # <-- dies here
        print(batch.shape)


if __name__ == "__main__":
    main()
