"""Train on photos, one of which is the web server's error page."""

import os
import pathlib
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

WORK = pathlib.Path(os.environ.get("CRASHCART_BENCH_TMP") or tempfile.mkdtemp())


def download(count):
    rng = np.random.default_rng(0)
    for number in range(count):
        pixels = rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)
        (WORK / f"photo-{number:02d}.jpg").write_bytes(tf.io.encode_jpeg(pixels).numpy())
    (WORK / "photo-11.jpg").write_text("<html><body>503 Service Unavailable</body></html>")


def load(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)  # <-- or here
    return tf.image.resize(image, [32, 32]) / 255.0, 1.0


def main():
    download(20)
    photos = tf.data.Dataset.list_files(str(WORK / "photo-*.jpg"), shuffle=False).map(load).batch(4)
    model = tf.keras.Sequential([tf.keras.Input((32, 32, 3)), layers.Flatten(), layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(photos, epochs=1, verbose=2)  # <-- dies here


if __name__ == "__main__":
    main()
